// What the engine makes of a head on the latents: mse + L cross-entropy.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/models/latent.h"
#include "tests/support/double_network.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::joint_test {
namespace {

using tests::run_steps;

constexpr int kClasses = 3;
constexpr int kBatch = 8;

EngineOptions joint_options(float joint, const char* variant = "loops") {
  EngineOptions options = tests::tiny_engine_options(variant);
  options.batch = kBatch;
  options.shuffle = false;
  options.test_images = 30;
  options.optimizer = defaults_of(ops::UpdateRule::adam);
  options.optimizer.learning_rate = 0.01f;
  options.optimizer.joint = joint;
  return options;
}

std::unique_ptr<Engine> make(const EngineOptions& options) {
  return std::make_unique<Engine>(options, std::make_shared<data::DataSet>(tests::labelled_data(120, 30)),
                                  core::open_device("cpu"));
}

std::vector<double> wide(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// The objective of the first images of a set, in double precision.
class DoubleObjective {
 public:
  DoubleObjective(const models::Model& model, const data::ImageSet& set, double joint)
      : network_(model),
        layout_(models::parameter_layout(model)),
        end_(models::latent_of(model).end),
        joint_(joint) {
    for (int i = 0; i < kBatch; ++i) {
      images_.push_back(tests::image_of(set, i));
      labels_.push_back(set.labels[static_cast<std::size_t>(i)]);
    }
  }

  double cross_entropy(const std::vector<double>& parameters) const {
    double sum = 0;
    for (std::size_t i = 0; i < images_.size(); ++i) {
      sum += cross_entropy(parameters, network_.outputs(parameters, images_[i])[end_ - 1], labels_[i]);
    }
    return sum / static_cast<double>(images_.size());
  }

  double operator()(const std::vector<double>& parameters) const {
    return network_.loss(parameters, images_) + joint_ * cross_entropy(parameters);
  }

 private:
  double cross_entropy(const std::vector<double>& parameters, const std::vector<double>& latent,
                       std::size_t label) const {
    const double* weights = parameters.data() + layout_.find("head.weight").offset;
    const double* bias = parameters.data() + layout_.find("head.bias").offset;
    std::vector<double> logits;
    for (std::size_t k = 0; k < kClasses; ++k) {
      double sum = bias[k];
      for (std::size_t f = 0; f < latent.size(); ++f) sum += weights[k * latent.size() + f] * latent[f];
      logits.push_back(sum);
    }
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    return std::log(sum) - logits[label];
  }

  tests::DoubleNetwork network_;
  models::ParameterLayout layout_;
  std::size_t end_;
  double joint_;
  std::vector<std::vector<double>> images_;
  std::vector<std::size_t> labels_;
};

class JointVariants : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Joint, JointVariants, testing::Values("loops", "onednn"));

TEST_P(JointVariants, GradientsAreThoseOfTheWholeObjective) {
  constexpr double kJoint = 0.7, kStep = 1e-5;
  const auto engine = make(joint_options(static_cast<float>(kJoint), GetParam()));
  const auto first = wide(engine->parameters());
  const auto result = run_steps(*engine, 1).front();
  const auto gradients = engine->gradients();
  const DoubleObjective objective(engine->model(), tests::labelled_data(120, 30).train, kJoint);
  EXPECT_NEAR(static_cast<double>(result.loss + 0.7f * result.head_loss), objective(first), 1e-5);
  EXPECT_NEAR(static_cast<double>(result.head_loss), objective.cross_entropy(first), 1e-5);
  double squares = 0;
  for (const float gradient : gradients)
    squares += static_cast<double>(gradient) * static_cast<double>(gradient);
  const double typical = std::sqrt(squares / static_cast<double>(gradients.size()));
  for (const models::Parameter& parameter : models::parameter_layout(engine->model()).parameters) {
    for (std::size_t i = 0; i < parameter.elements; i += parameter.elements / 24 + 1) {
      auto moved = first;
      moved[parameter.offset + i] += kStep;
      const double above = objective(moved);
      moved[parameter.offset + i] -= 2 * kStep;
      const double expected = (above - objective(moved)) / (2 * kStep);
      EXPECT_NEAR(static_cast<double>(gradients[parameter.offset + i]), expected,
                  1e-3 * std::abs(expected) + 1e-3 * typical)
          << parameter.name << "[" << i << "]";
    }
  }
}

TEST(Joint, TheHeadComesLastAndLeavesTheOthersWhereTheyWere) {
  const auto bare = make(joint_options(0));
  const auto joint = make(joint_options(0.5f));
  EXPECT_EQ(bare->model().head_classes, 0);
  EXPECT_EQ(joint->model().head_classes, kClasses);
  const auto without = bare->parameters(), with = joint->parameters();
  ASSERT_LT(without.size(), with.size());
  EXPECT_TRUE(std::equal(without.begin(), without.end(), with.begin()));
  EXPECT_FALSE(run_steps(*bare, 1).front().head);
}

TEST(Joint, LearnsToTellTheClassesApartWhileItReconstructs) {
  const auto engine = make(joint_options(0.1f));
  const auto results = run_steps(*engine, 150);
  EXPECT_LT(results.back().loss, results.front().loss);
  EXPECT_LT(results.back().head_loss, 0.5f * results.front().head_loss);
  EXPECT_GT(results.back().accuracy, 0.8f);
  engine->evaluator().start(Split::test);
  while (!engine->evaluator().enqueue_batch()) {
  }
  engine->synchronize();
  const auto found = engine->evaluator().collect();
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->classes, 0) << "the network itself does not classify";
  EXPECT_GT(found->psnr, 0);
  EXPECT_GT(found->head_accuracy, 0.6);
  EXPECT_TRUE(found->head);
  EXPECT_TRUE(std::isfinite(found->head_loss));
  EXPECT_NEAR(found->head_accuracy * 30, std::round(found->head_accuracy * 30), 1e-9);
}

TEST(Joint, AnotherShareTakesEffectAtTheNextStepWithTheSamePlan) {
  EngineOptions options = joint_options(0.5f);
  options.optimizer = defaults_of(ops::UpdateRule::sgd);
  options.optimizer.learning_rate = 0;
  options.optimizer.joint = 0.5f;
  options.batch = 120;  // every step sees the same images
  const auto engine = make(options);
  const std::size_t head = models::parameter_layout(engine->model()).find("head.weight").offset;
  run_steps(*engine, 1);
  const auto before = engine->gradients();
  OptimizerSettings twice = options.optimizer;
  twice.joint = 1.0f;
  engine->set_optimizer(twice);
  run_steps(*engine, 1);
  const auto after = engine->gradients();
  for (std::size_t i = head; i < head + 20; ++i) EXPECT_NEAR(after[i], 2 * before[i], 1e-6f);
}

TEST(Joint, AHeadComesAndGoesWhileTheWeightsGoOn) {
  const auto engine = make(joint_options(0));
  run_steps(*engine, 5);
  const auto before = engine->state();
  OptimizerSettings joint = engine->options().optimizer;
  joint.joint = 0.3f;
  engine->set_optimizer(joint);
  const auto with = engine->state();
  EXPECT_EQ(engine->model().head_classes, kClasses);
  ASSERT_GT(with.parameters.size(), before.parameters.size());
  EXPECT_TRUE(std::equal(before.parameters.begin(), before.parameters.end(), with.parameters.begin()));
  EXPECT_TRUE(std::equal(before.states[0].begin(), before.states[0].end(), with.states[0].begin()));
  const auto results = run_steps(*engine, 100);
  EXPECT_TRUE(results.back().head);
  EXPECT_LT(results.back().head_loss, results.front().head_loss);
  const auto learned = engine->parameters();
  joint.joint = 0;
  engine->set_optimizer(joint);
  const auto alone = engine->parameters();
  ASSERT_EQ(alone.size(), before.parameters.size());
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), learned.begin()));
  EXPECT_FALSE(run_steps(*engine, 1).front().head);
  engine->reset();
  EXPECT_EQ(engine->parameters(), make(joint_options(0))->parameters());
}

TEST(Joint, GoesOnBitForBitFromASavedState) {
  const auto straight = make(joint_options(0.3f));
  run_steps(*straight, 7);
  const EngineState state = straight->state();
  const auto expected = run_steps(*straight, 9);
  const auto other = make(joint_options(0.3f));
  run_steps(*other, 3);
  other->restore(state);
  EXPECT_EQ(tests::losses(run_steps(*other, 9)), tests::losses(expected));
  EXPECT_EQ(other->parameters(), straight->parameters());
}

TEST(Joint, MicroBatchesStepAsOneLargeBatchDoes) {
  EngineOptions parts = joint_options(0.3f);
  parts.batch = kBatch / 4;
  parts.optimizer.accumulate = 4;
  const auto expected = run_steps(*make(joint_options(0.3f)), 6);
  const auto results = run_steps(*make(parts), 6);
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_NEAR(results[i].loss, expected[i].loss, 1e-4f * expected[i].loss);
    EXPECT_NEAR(results[i].head_loss, expected[i].head_loss, 1e-4f * expected[i].head_loss);
    EXPECT_FLOAT_EQ(results[i].accuracy, expected[i].accuracy);
  }
}

TEST(Joint, ACrossEntropyThatIsNoNumberHaltsTheTraining) {
  const auto engine = make(joint_options(0.3f));
  run_steps(*engine, 2);
  EngineState state = engine->state();
  state.parameters[models::parameter_layout(engine->model()).find("head.bias").offset] =
      std::numeric_limits<float>::infinity();
  engine->restore(state);
  const auto result = run_steps(*engine, 1).front();
  EXPECT_TRUE(result.skipped);
  EXPECT_FALSE(std::isfinite(result.loss));
  EXPECT_EQ(engine->parameters(), state.parameters) << "the layers' weights are as they were";
  EXPECT_EQ(engine->find_not_finite(2).tensor, "head.bias");
  EXPECT_EQ(engine->find_not_finite(2).layer, "head");
}

TEST(Joint, RefusesImagesWithoutClassesAndNetworksThatClassify) {
  EngineOptions options = joint_options(0.3f);
  const auto waves = std::make_shared<data::DataSet>(tests::tiny_data());
  EXPECT_THROW(Engine(options, waves, core::open_device("cpu")), core::BadInput) << "one class is none";
  options.optimizer.joint = 0;
  Engine engine(options, waves, core::open_device("cpu"));
  OptimizerSettings joint = options.optimizer;
  joint.joint = 0.1f;
  EXPECT_THROW(engine.set_optimizer(joint), core::BadInput);
  EXPECT_EQ(engine.options().optimizer, options.optimizer);
  run_steps(engine, 1);
  options.optimizer.joint = 0.1f;
  options.model = tests::tiny_classifier();
  EXPECT_THROW(make(options), core::BadInput);
}

}  // namespace
}  // namespace warpscope::training::joint_test
