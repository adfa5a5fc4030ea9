// Distributions are those of what the training holds: against its weights, its own figures and a model in double
// precision.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/engine/engine.h"
#include "gpu/models/parameters.h"
#include "gpu/observers/observer_table.h"
#include "tests/support/double_network.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::distribution_observer_test {
namespace {

using statistics::Distribution;
using tests::run_steps;

struct Case {
  std::string name;
  tests::Streams streams = tests::Streams::at_once;
  bool classifies = false;
};

Observations wait_for(Observer& observer) {
  Observations seen;
  do {
    while (!observer.take(seen)) std::this_thread::yield();
  } while (seen.distributions->moments.empty());
  return seen;
}

std::vector<double> part_of(const std::vector<float>& values, const models::Parameter& parameter) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(parameter.offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(parameter.elements)};
}

void expect_sums(const Distribution* found, const std::vector<double>& values, double tolerance) {
  ASSERT_NE(found, nullptr);
  double sum = 0, squares = 0, magnitudes = 0;
  for (const double value : values) {
    sum += value;
    magnitudes += std::fabs(value);
    squares += value * value;
  }
  EXPECT_EQ(found->elements(), values.size());
  EXPECT_NEAR(found->sum, sum, tolerance * (magnitudes + 1e-30));
  EXPECT_NEAR(found->squares, squares, 2 * tolerance * (squares + 1e-30));
  EXPECT_NEAR(found->least, *std::min_element(values.begin(), values.end()), tolerance);
  EXPECT_NEAR(found->most, *std::max_element(values.begin(), values.end()), tolerance);
}

class Distributing : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!device_) GTEST_SKIP() << core::cuda_unavailable_reason();
  }
  std::unique_ptr<Engine> make() const {
    EngineOptions options = tests::tiny_engine_options();
    options.selection = tests::plain_selection(GetParam().streams);
    if (GetParam().classifies) options.model = tests::tiny_classifier();
    return std::make_unique<Engine>(options, data_, device_);
  }
  /// A look across one step, which must not be the first.
  static DistributionMoment look(Engine& engine, Observer& observer, StepResult* step = nullptr) {
    ObservationRequest request;
    request.distributions = true;
    observer.ask(request);
    EXPECT_FALSE(observer.start(engine.scene())) << "it waits for a step";
    const auto results = run_steps(engine, 1);
    if (step != nullptr) *step = results.back();
    EXPECT_TRUE(observer.start(engine.scene()));
    return *wait_for(observer).distributions->moments.back();
  }

  const std::shared_ptr<core::Device> device_ = tests::device_of(GetParam().streams);
  const std::shared_ptr<data::DataSet> data_ =
      GetParam().classifies ? std::make_shared<data::DataSet>(tests::labelled_data(40, 12))
                            : std::make_shared<data::DataSet>(tests::tiny_data());
};

INSTANTIATE_TEST_SUITE_P(Streams, Distributing,
                         testing::Values(Case{"at_once"}, Case{"behind", tests::Streams::behind},
                                         Case{"of_classes", tests::Streams::behind, true},
                                         Case{"cuda", tests::Streams::cuda},
                                         Case{"cuda_of_classes", tests::Streams::cuda, true}),
                         [](const auto& which) { return which.param.name; });

TEST_P(Distributing, CountsWeightsGradientsAndTheUpdateOfOneStep) {
  const auto engine = make();
  run_steps(*engine, 2);
  const std::vector<float> before = engine->parameters();
  const std::unique_ptr<Observer> observer = make_distribution_observer();
  const DistributionMoment moment = look(*engine, *observer);
  EXPECT_EQ(moment.step, 3u);
  EXPECT_EQ(moment.update_steps, 1u);
  const std::vector<float> weights = engine->parameters(), gradients = engine->gradients();
  std::vector<float> updates;
  for (std::size_t i = 0; i < weights.size(); ++i) updates.push_back(weights[i] - before[i]);
  const auto layout = models::parameter_layout(engine->model());
  for (std::size_t i = 0; i < layout.parameters.size(); i += 2) {
    // A layer's weight and its bias follow each other.
    const auto both = [&](const std::vector<float>& values) {
      std::vector<double> all = part_of(values, layout.parameters[i]);
      const std::vector<double> bias = part_of(values, layout.parameters[i + 1]);
      all.insert(all.end(), bias.begin(), bias.end());
      return all;
    };
    const std::size_t layer = layout.parameters[i].layer + 1;
    SCOPED_TRACE(layout.parameters[i].name);
    expect_sums(moment.find(layer, Quantity::weights), both(weights), 1e-12);
    expect_sums(moment.find(layer, Quantity::gradients), both(gradients), 1e-12);
    expect_sums(moment.find(layer, Quantity::updates), both(updates), 1e-12);
  }
}

TEST_P(Distributing, AgreesWithWhatTheStepTellsOfItself) {
  const auto engine = make();
  run_steps(*engine, 2);
  const std::unique_ptr<Observer> observer = make_distribution_observer();
  StepResult step;
  const std::vector<float> before = engine->parameters();
  const DistributionMoment moment = look(*engine, *observer, &step);
  double gradients = 0, updates = 0, weights = 0;
  for (const auto& [key, distribution] : moment.distributions) {
    if (key.second == Quantity::gradients) gradients += distribution.squares;
    if (key.second == Quantity::updates) updates += distribution.squares;
  }
  for (const float value : before) weights += static_cast<double>(value) * static_cast<double>(value);
  EXPECT_NEAR(std::sqrt(gradients), step.gradient_norm, 1e-5 * step.gradient_norm);
  EXPECT_NEAR(std::sqrt(updates / weights), step.update_ratio, 1e-4 * step.update_ratio);
}

TEST_P(Distributing, CountsWhatLayersMakeOfTheFirstTestImages) {
  const auto engine = make();
  run_steps(*engine, 3);
  const std::unique_ptr<Observer> observer = make_distribution_observer();
  const DistributionMoment moment = look(*engine, *observer);
  const models::Model& model = engine->model();
  const std::vector<float> narrow = engine->parameters();
  const std::vector<double> parameters(narrow.begin(), narrow.end());
  std::vector<std::vector<double>> outputs(model.layers.size() + 1);
  std::vector<std::vector<bool>> live(outputs.size());
  for (int image = 0; image < data_->test.count; ++image) {
    const std::vector<double> pixels = tests::image_of(data_->test, image);
    const auto layers = tests::DoubleNetwork(model).outputs(parameters, pixels);
    for (std::size_t n = 0; n < outputs.size(); ++n) {
      const std::vector<double>& values = n == 0 ? pixels : layers[n - 1];
      outputs[n].insert(outputs[n].end(), values.begin(), values.end());
      live[n].resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) live[n][i] = live[n][i] || values[i] != 0;
    }
  }
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    SCOPED_TRACE(n);
    expect_sums(moment.find(n, Quantity::activations), outputs[n], 2e-5);
    const bool relu = n > 0 && model.layers[n - 1].kind == models::LayerKind::relu;
    ASSERT_EQ(moment.dead.count(n), relu ? 1u : 0u);
    if (!relu) continue;
    const DeadUnits& dead = moment.dead.at(n);
    EXPECT_EQ(dead.units, static_cast<std::int64_t>(live[n].size()));
    EXPECT_EQ(dead.dead_units, std::count(live[n].begin(), live[n].end(), false));
  }
}

TEST_P(Distributing, DisturbsNothing) {
  const auto engine = make();
  const auto twin = make();
  run_steps(*engine, 2);
  run_steps(*twin, 3);
  const std::unique_ptr<Observer> observer = make_distribution_observer();
  look(*engine, *observer);
  EXPECT_EQ(tests::losses(run_steps(*engine, 4)), tests::losses(run_steps(*twin, 4)));
}

TEST_P(Distributing, SeesAReluDieWhoseBiasIsFarBelowZero) {
  const auto engine = make();
  EngineState state = engine->state();
  const auto layout = models::parameter_layout(engine->model());
  const models::Parameter& bias = layout.find("conv1.bias");
  for (const std::size_t channel : {std::size_t{1}, std::size_t{3}})
    state.parameters[bias.offset + channel] = -1e3f;
  engine->restore(state);
  const std::unique_ptr<Observer> observer = make_distribution_observer();
  const DistributionMoment moment = look(*engine, *observer);
  const DeadUnits& dead = moment.dead.at(2);
  EXPECT_EQ(dead.channels, 4);
  EXPECT_GE(dead.dead_channels, 2);
  EXPECT_GE(dead.dead_units, 2 * 64);
  EXPECT_LT(dead.dead_units, dead.units);
}

/// A training whose loss scale doubles with each step. Powers of two change no digit of a gradient.
void scale_the_loss(Engine& engine) {
  EngineState state = engine.state();
  state.control.loss_scale = 256;
  state.control.growth_interval = 1;
  engine.restore(state);
}

TEST_P(Distributing, GradientsAreWithoutTheScaleThatTheirStepHad) {
  const auto engine = make();
  const auto plain = make();
  scale_the_loss(*engine);
  run_steps(*engine, 2);
  run_steps(*plain, 3);
  const std::unique_ptr<Observer> observer = make_distribution_observer();
  StepResult step;
  const DistributionMoment moment = look(*engine, *observer, &step);
  EXPECT_EQ(step.loss_scale, 1024) << "it is another one by now";
  const std::vector<float> wanted = plain->gradients();
  EXPECT_EQ(engine->gradients()[0], 1024 * wanted[0]);
  double squares = 0, found = 0;
  for (const float gradient : wanted)
    squares += static_cast<double>(gradient) * static_cast<double>(gradient);
  for (const auto& [key, distribution] : moment.distributions) {
    if (key.second == Quantity::gradients) found += distribution.squares;
  }
  EXPECT_NEAR(found, squares, 1e-12 * squares);
}

class DistributionLooks : public testing::Test {
 protected:
  static ObservationRequest wanted(bool distributions) {
    ObservationRequest request;
    request.distributions = distributions;
    return request;
  }
  Engine engine_{tests::tiny_engine_options(), std::make_shared<data::DataSet>(tests::tiny_data()),
                 core::open_device("cpu")};
  std::unique_ptr<Observer> observer_ = make_distribution_observer();
};

TEST_F(DistributionLooks, AtATrainingThatStandsStillHaveNoUpdates) {
  EXPECT_TRUE(observer_->ask(wanted(true)));
  EXPECT_FALSE(observer_->start(engine_.scene()));
  EXPECT_TRUE(observer_->start(engine_.scene()));
  const Observations seen = wait_for(*observer_);
  const DistributionMoment& moment = *seen.distributions->moments.back();
  EXPECT_EQ(moment.update_steps, 0u);
  EXPECT_NE(moment.find(1, Quantity::weights), nullptr);
  EXPECT_EQ(moment.find(1, Quantity::updates), nullptr);
  EXPECT_EQ(moment.find(1, Quantity::gradients), nullptr) << "no step has made any";
  EXPECT_FALSE(moment.update_ratio(1).has_value());
}

TEST_F(DistributionLooks, AtARestoredStateHaveNoGradientsBeforeItsNextStep) {
  run_steps(engine_, 4);
  engine_.restore(engine_.state());
  observer_->ask(wanted(true));
  observer_->start(engine_.scene());
  ASSERT_TRUE(observer_->start(engine_.scene()));
  EXPECT_EQ(wait_for(*observer_).distributions->moments.back()->find(1, Quantity::gradients), nullptr)
      << "those that are there belong to another step";
  observer_->start(engine_.scene());
  run_steps(engine_, 1);
  ASSERT_TRUE(observer_->start(engine_.scene()));
  const Observations seen = wait_for(*observer_);
  EXPECT_EQ(seen.distributions->moments.back()->step, 5u);
  EXPECT_NE(seen.distributions->moments.back()->find(1, Quantity::gradients), nullptr);
}

TEST_F(DistributionLooks, SeeATrainingThatHasGoneBackAndStandsStill) {
  run_steps(engine_, 2);
  const EngineState earlier = engine_.state();
  observer_->ask(wanted(true));
  observer_->start(engine_.scene());
  run_steps(engine_, 2);
  ASSERT_TRUE(observer_->start(engine_.scene()));
  EXPECT_EQ(wait_for(*observer_).distributions->moments.back()->step, 4u);
  engine_.restore(earlier);
  Scene scene = engine_.scene();
  scene.generation = 1;
  observer_->start(scene);
  ASSERT_TRUE(observer_->start(scene));
  const Observations seen = wait_for(*observer_);
  ASSERT_EQ(seen.distributions->moments.size(), 1u);
  EXPECT_EQ(seen.distributions->moments.back()->step, 2u);
  EXPECT_EQ(seen.distributions->moments.back()->update_steps, 0u);
}

TEST_F(DistributionLooks, ThatComeLateDivideTheUpdateByTheStepsBetween) {
  observer_->ask(wanted(true));
  observer_->start(engine_.scene());
  const std::vector<float> before = engine_.parameters();
  run_steps(engine_, 3);
  EXPECT_TRUE(observer_->start(engine_.scene()));
  const Observations seen = wait_for(*observer_);
  const DistributionMoment& moment = *seen.distributions->moments.back();
  EXPECT_EQ(moment.update_steps, 3u);
  const models::ParameterLayout layout = models::parameter_layout(engine_.model());
  const models::Parameter& first = layout.find("conv1.weight");
  const std::vector<float> after = engine_.parameters();
  float most = -1e9f;
  for (std::size_t i = first.offset; i < first.offset + first.elements; ++i) {
    most = std::max(most, (after[i] - before[i]) / 3.0f);
  }
  EXPECT_GE(moment.find(1, Quantity::updates)->most, most);
}

TEST_F(DistributionLooks, DoNotTakeAResetForAnUpdate) {
  observer_->ask(wanted(true));
  run_steps(engine_, 5);
  EXPECT_FALSE(observer_->start(engine_.scene()));
  engine_.reset();
  run_steps(engine_, 1);
  EXPECT_FALSE(observer_->start(engine_.scene())) << "the earlier weights are not of this training";
  run_steps(engine_, 1);
  EXPECT_TRUE(observer_->start(engine_.scene()));
}

TEST_F(DistributionLooks, KeepTheirHistoryWhileNobodyAsks) {
  observer_->ask(wanted(true));
  observer_->start(engine_.scene());
  run_steps(engine_, 1);
  observer_->start(engine_.scene());
  Observations seen = wait_for(*observer_);
  EXPECT_TRUE(observer_->ask(wanted(false)));
  EXPECT_FALSE(observer_->wanted());
  observer_->end(seen);
  EXPECT_EQ(seen.distributions, nullptr);
  observer_->ask(wanted(true));
  EXPECT_TRUE(observer_->take(seen));
  ASSERT_NE(seen.distributions, nullptr);
  EXPECT_EQ(seen.distributions->moments.size(), 1u);
  EXPECT_EQ(seen.distributions->images, 12);
  EXPECT_FALSE(observer_->take(seen)) << "there is nothing newer";
}

TEST_F(DistributionLooks, FollowTheSelection) {
  observer_->ask(wanted(true));
  for (const bool reference : {false, true}) {
    if (reference) engine_.set_selection(tests::all_of("reference"));
    EXPECT_FALSE(observer_->start(engine_.scene()));
    run_steps(engine_, 1);
    EXPECT_TRUE(observer_->start(engine_.scene()));
    EXPECT_EQ(wait_for(*observer_).distributions->moments.back()->step, engine_.steps());
  }
}

TEST(DistributionLooksUnderWay, AreNotStartedTwiceAndMayBeEnded) {
  const auto device = std::make_shared<tests::AsyncDevice>();
  Engine engine(tests::tiny_engine_options(), std::make_shared<data::DataSet>(tests::tiny_data()), device);
  const std::unique_ptr<Observer> observer = make_distribution_observer();
  Observations seen;
  observer->start(engine.scene());
  run_steps(engine, 1);
  auto held = device->hold();
  EXPECT_TRUE(observer->start(engine.scene()));
  EXPECT_FALSE(observer->start(engine.scene()));
  EXPECT_FALSE(observer->take(seen));
  held.reset();
  observer->end(seen);
  EXPECT_FALSE(observer->take(seen));
}

}  // namespace
}  // namespace warpscope::training::distribution_observer_test
