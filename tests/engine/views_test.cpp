// Evaluations of several views of each image: against a model in double precision, of images that the test changes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/double_network.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"
#include "tests/support/tiny_text.h"

namespace warpscope::training::views_test {
namespace {

using tests::losses;
using tests::run_steps;

/// 5 images of validation and 11 to test with: a multiple of no batch.
data::DataSet held_out_data() {
  data::DataSet data = tests::labelled_data(40, 11);
  data.validation = tests::labelled_images(5, 19);
  return data;
}

/// What a direct computation gives of the first images of a set.
Evaluation expected(Engine& engine, const data::ImageSet& set, std::int64_t images) {
  const models::Model& model = engine.model();
  const tests::DoubleNetwork network(model);
  const std::vector<float> values = engine.parameters();
  const std::vector<double> parameters(values.begin(), values.end());
  Evaluation result;
  result.classes = model.classes;
  for (std::int64_t i = 0; i < images; ++i) {
    const std::vector<double> z =
        tests::mean_of_views(network, model, parameters, tests::image_of(set, i),
                             engine.options().test_mirrored, engine.options().test_shift);
    double sum = 0;
    for (const double logit : z) sum += std::exp(logit);
    result.predicted.push_back(static_cast<std::uint8_t>(std::max_element(z.begin(), z.end()) - z.begin()));
    result.image_losses.push_back(
        static_cast<float>(std::log(sum) - z[set.labels[static_cast<std::size_t>(i)]]));
  }
  summarize(result, set.labels.data());
  return result;
}

void expect_same(const Evaluation& found, const Evaluation& wanted, float tolerance = 2e-5f) {
  ASSERT_EQ(found.image_losses.size(), wanted.image_losses.size());
  for (std::size_t i = 0; i < wanted.image_losses.size(); ++i) {
    EXPECT_NEAR(found.image_losses[i], wanted.image_losses[i], tolerance) << i;
  }
  EXPECT_NEAR(found.loss, wanted.loss, static_cast<double>(tolerance));
  EXPECT_EQ(found.predicted, wanted.predicted);
  EXPECT_EQ(found.confusion, wanted.confusion);
  EXPECT_DOUBLE_EQ(found.accuracy, wanted.accuracy);
}

std::shared_ptr<const Evaluation> finish(Engine& engine) {
  while (!engine.evaluator().enqueue_batch()) EXPECT_EQ(engine.evaluator().collect(), nullptr);
  engine.synchronize();
  return engine.evaluator().collect();
}

std::shared_ptr<const Evaluation> evaluate(Engine& engine, Split split = Split::test) {
  engine.evaluator().start(split);
  return finish(engine);
}

class Views : public testing::TestWithParam<tests::Streams> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
  }
  EngineOptions classifier(int batch) const {
    EngineOptions options = tests::tiny_engine_options();
    options.model = tests::tiny_classifier();
    options.selection = tests::plain_selection(GetParam());
    options.batch = batch;
    options.test_mirrored = true;
    options.test_shift = 2;
    return options;
  }
  std::unique_ptr<Engine> make(const EngineOptions& options) const {
    return std::make_unique<Engine>(options, data, device);
  }

  const std::shared_ptr<data::DataSet> data = std::make_shared<data::DataSet>(held_out_data());
  const std::shared_ptr<core::Device> device = tests::device_of(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Streams, Views, testing::ValuesIn(tests::kAllStreams),
                         [](const auto& which) { return tests::name_of(which.param); });

TEST_P(Views, AreJudgedByTheMeanOfTheirLogits) {
  const std::vector<std::pair<bool, int>> settings{{true, 0}, {false, 1}, {true, 3}, {false, 6}, {true, 7}};
  for (const auto& [mirrored, shift] : settings) {
    for (const int batch : {1, 4, 11, 40}) {
      SCOPED_TRACE(testing::Message() << mirrored << ' ' << shift << ' ' << batch);
      EngineOptions options = classifier(batch);
      options.test_mirrored = mirrored;
      options.test_shift = shift;
      const auto engine = make(options);
      run_steps(*engine, 20);
      const auto found = evaluate(*engine);
      ASSERT_NE(found, nullptr);
      expect_same(*found, expected(*engine, data->test, 11));
      EXPECT_EQ(found->step, 20u);
      EXPECT_EQ(found->classes, 3);
      const auto steering = evaluate(*engine, Split::validation);
      EXPECT_EQ(steering->split, Split::validation);
      expect_same(*steering, expected(*engine, data->validation, 5));
    }
  }
}

TEST_P(Views, AreOfAsManyImagesAsAskedFor) {
  for (const std::int64_t images : {1, 2, 7}) {
    EngineOptions options = classifier(3);
    options.test_images = images;
    const auto engine = make(options);
    expect_same(*evaluate(*engine), expected(*engine, data->test, images));
  }
}

TEST_P(Views, AreMadeInSeveralBatchesAndBeginAgainInTheirMiddle) {
  const auto many = std::make_shared<data::DataSet>(tests::labelled_data(40, 530));
  EngineOptions options = classifier(4);
  options.test_images = 530;
  Engine engine(options, many, device);
  run_steps(engine, 4);
  engine.evaluator().start(Split::test);
  ASSERT_FALSE(engine.evaluator().enqueue_batch()) << "there are more";
  engine.set_selection(tests::other_selection(GetParam()));
  ASSERT_FALSE(engine.evaluator().enqueue_batch());
  const auto found = finish(engine);
  ASSERT_NE(found, nullptr);
  expect_same(*found, expected(engine, many->test, 530));
}

TEST_P(Views, GiveAnotherFigureForEachSetting) {
  std::set<double> seen;
  for (const bool mirrored : {false, true}) {
    for (const int shift : {0, 1, 2}) {
      EngineOptions options = classifier(4);
      options.test_mirrored = mirrored;
      options.test_shift = shift;
      seen.insert(evaluate(*make(options))->loss);
    }
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST_P(Views, DoNotDisturbTraining) {
  EngineOptions plain = classifier(4);
  plain.test_mirrored = false;
  plain.test_shift = 0;
  const auto engine = make(classifier(4)), other = make(plain);
  std::vector<float> tested;
  for (int i = 0; i < 3; ++i) {
    for (const float loss : losses(run_steps(*engine, 4))) tested.push_back(loss);
    evaluate(*engine);
  }
  EXPECT_EQ(tested, losses(run_steps(*other, 12)));
}

TEST_P(Views, SurviveChangesInTheirMiddle) {
  const auto engine = make(classifier(2));
  run_steps(*engine, 4);
  const Evaluation wanted = expected(*engine, data->test, 11);
  engine->evaluator().start(Split::test);
  engine->evaluator().enqueue_batch();
  engine->set_batch(5);
  engine->evaluator().enqueue_batch();
  engine->set_selection(tests::other_selection(GetParam()));
  while (!engine->evaluator().enqueue_batch()) {
  }
  engine->set_selection(tests::plain_selection(GetParam()));
  EXPECT_EQ(engine->evaluator().collect(), nullptr) << "its logits went with the plan";
  const auto found = finish(*engine);
  ASSERT_NE(found, nullptr);
  expect_same(*found, wanted);
}

TEST_P(Views, FollowANetworkOfMoreClasses) {
  const auto engine = make(classifier(4));
  run_steps(*engine, 3);
  models::Model wider = tests::tiny_classifier();
  wider.name = "wider";
  wider.layers.back().out_channels = wider.classes = 7;
  engine->evaluator().start(Split::test);
  engine->evaluator().enqueue_batch();
  engine->set_network(wider);
  const auto found = finish(*engine);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->classes, 7);
  expect_same(*found, expected(*engine, data->test, 11));
}

TEST(ViewsPrecision, LogitsOfSixteenBitsAreAveragedAsNumbers) {
  EngineOptions options = tests::tiny_engine_options();
  options.model = tests::tiny_classifier();
  options.selection.precision = core::Precision::bf16;
  options.test_mirrored = true;
  options.test_shift = 1;
  const auto data = std::make_shared<data::DataSet>(held_out_data());
  Engine engine(options, data, core::open_device("cpu"));
  const auto found = evaluate(engine);
  const Evaluation wanted = expected(engine, data->test, 11);
  for (std::size_t i = 0; i < 11; ++i) EXPECT_NEAR(found->image_losses[i], wanted.image_losses[i], 0.02);
}

TEST(ViewsRefusals, AreSentences) {
  const auto device = core::open_device("cpu");
  EngineOptions options = tests::tiny_engine_options();
  options.test_mirrored = true;
  const auto refusal = [&](const data::DataSet& data) {
    return tests::message_of<core::BadInput>(
        [&] { Engine(options, std::make_shared<data::DataSet>(data), device); });
  };
  const std::string of_images =
      "model tiny tells no classes apart, and several views of an image only help to do that: leave ";
  EXPECT_EQ(refusal(tests::tiny_data()), of_images + "test_mirrored off");
  options.test_shift = 1;
  EXPECT_EQ(refusal(tests::tiny_data()), of_images + "test_mirrored and test_shift off");
  options.test_mirrored = false;
  EXPECT_EQ(refusal(tests::tiny_data()), of_images + "test_shift off");
  options.model = tests::tiny_text_model();
  EXPECT_EQ(refusal(tests::tiny_text_data()),
            "model " + options.model.name +
                " takes texts, which can be neither mirrored nor shifted: leave test_shift off");
}

}  // namespace
}  // namespace warpscope::training::views_test
