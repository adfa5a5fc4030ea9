// What a network answers and how long its parts take: against a model in double precision.

#include "gpu/inference/inference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/double_network.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"

namespace warpscope::inference::inference_test {
namespace {

/// 37 test images: a multiple of no batch.
std::shared_ptr<const data::DataSet> images_for(const models::Model& model) {
  const bool classifies = model.loss == models::Loss::cross_entropy;
  return std::make_shared<data::DataSet>(classifies ? tests::labelled_data(1, 37) : tests::tiny_data(1, 37));
}

class InferenceOn : public testing::TestWithParam<tests::Streams> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
    stream = device->make_stream();
  }
  Outcome ask(const models::Model& model, ImageSource& source, int batch, const Inference::GoOn& go_on = {},
              const plan::ViewSettings& views = {}) {
    Inference network(model, parameters_of(model), tests::plain_selection(GetParam()), batch, device, *stream,
                      views);
    return network.run(source, go_on);
  }
  Outcome ask(const models::Model& model, int batch) {
    return ask(model, *test_images_of(images_for(model)), batch);
  }
  static std::vector<float> parameters_of(const models::Model& model) {
    return models::initial_parameters(model, 3);
  }
  static std::vector<double> wide_parameters_of(const models::Model& model) {
    const std::vector<float> parameters = parameters_of(model);
    return {parameters.begin(), parameters.end()};
  }

  std::shared_ptr<core::Device> device = tests::device_of(GetParam());
  std::unique_ptr<core::Stream> stream;
};

INSTANTIATE_TEST_SUITE_P(Streams, InferenceOn, testing::ValuesIn(tests::kAllStreams),
                         [](const auto& which) { return tests::name_of(which.param); });

TEST_P(InferenceOn, AClassifierTellsTheLikeliestClassesAndHowOftenItIsRight) {
  const models::Model model = tests::tiny_classifier();
  const auto data = images_for(model);
  const Outcome found = ask(model, 8);
  ASSERT_EQ(found.answers.size(), 37u);
  const tests::DoubleNetwork network(model);
  int right = 0;
  for (std::size_t i = 0; i < 37; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::vector<double> logits =
        network.reconstruct(wide_parameters_of(model), tests::image_of(data->test, at));
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    const Answer& answer = found.answers[i];
    EXPECT_EQ(answer.image.index, at);
    EXPECT_EQ(answer.image.label, data->test.labels[i]);
    ASSERT_EQ(answer.guesses.size(), 3u);
    std::vector<bool> told(3);
    for (const Guess& guess : answer.guesses) {
      const auto label = static_cast<std::size_t>(guess.label);
      told[label] = true;
      EXPECT_NEAR(guess.probability, std::exp(logits[label]) / sum, 2e-5) << i;
    }
    EXPECT_EQ(told, std::vector<bool>(3, true)) << i;
    EXPECT_GE(answer.guesses[0].probability, answer.guesses[1].probability);
    EXPECT_GE(answer.guesses[1].probability, answer.guesses[2].probability);
    right += answer.guesses.front().label == data->test.labels[i];
  }
  ASSERT_TRUE(found.accuracy);
  EXPECT_DOUBLE_EQ(*found.accuracy, right / 37.0);
  EXPECT_FALSE(found.mse);
}

TEST_P(InferenceOn, NormsArePartOfTheLayersBeforeThemUnlessTheirVariantIsChosen) {
  models::Model model = tests::tiny_classifier();
  model.layers.insert(model.layers.begin() + 1, {models::LayerKind::batch_norm, "bn1"});
  models::fit_layers(model);
  const auto data = images_for(model);
  plan::Selection chosen = tests::plain_selection(GetParam());
  chosen.variants.erase(ops::Op::batch_norm_infer);
  plan::Selection apart = chosen;
  apart.variants[ops::Op::batch_norm_infer] = GetParam() == tests::Streams::cuda ? "naive" : "loops";
  std::vector<Outcome> found;
  for (const plan::Selection& selection : {chosen, apart})
    found.push_back(
        Inference(model, parameters_of(model), selection, 8, device, *stream).run(*test_images_of(data)));
  const auto row_of = [](const Outcome& outcome) {
    return std::ranges::find(outcome.layers, "bn1", &LayerLatency::layer);
  };
  ASSERT_NE(row_of(found[0]), found[0].layers.end());
  EXPECT_EQ(row_of(found[0])->inside, "conv1");
  ASSERT_NE(row_of(found[1]), found[1].layers.end());
  EXPECT_EQ(row_of(found[1])->inside, "");
  for (std::size_t i = 0; i < 37; ++i) {
    for (std::size_t n = 0; n < 3; ++n)
      EXPECT_NEAR(found[0].answers[i].guesses[n].probability, found[1].answers[i].guesses[n].probability,
                  1e-5);
  }
}

TEST_P(InferenceOn, AClassifierAnswersByAllViewsOfAnImage) {
  const models::Model model = tests::tiny_classifier();
  const auto data = images_for(model);
  const tests::DoubleNetwork network(model);
  for (const int shift : {0, 2, 7}) {
    for (const int batch : {1, 8, 37}) {
      const bool mirrored = shift == 0 || batch != 8;
      const Outcome found = ask(model, *test_images_of(data), batch, {}, {mirrored, shift});
      EXPECT_EQ(found.views.mirrored, mirrored);
      EXPECT_EQ(found.views.shift, shift);
      ASSERT_EQ(found.answers.size(), 37u);
      for (std::size_t i = 0; i < 37; ++i) {
        SCOPED_TRACE(testing::Message() << shift << ' ' << batch << ' ' << i);
        const std::vector<double> image = tests::image_of(data->test, static_cast<std::int64_t>(i));
        const std::vector<Guess> wanted = best_guesses(
            tests::mean_of_views(network, model, wide_parameters_of(model), image, mirrored, shift));
        ASSERT_EQ(found.answers[i].guesses.size(), wanted.size());
        for (std::size_t n = 0; n < wanted.size(); ++n) {
          EXPECT_EQ(found.answers[i].guesses[n].label, wanted[n].label);
          EXPECT_NEAR(found.answers[i].guesses[n].probability, wanted[n].probability, 2e-5);
        }
      }
    }
  }
}

TEST_P(InferenceOn, ANetworkThatReconstructsTellsTheErrorOfEachImage) {
  const models::Model model = tests::tiny_model();
  const auto data = images_for(model);
  const Outcome found = ask(model, 5);
  ASSERT_EQ(found.answers.size(), 37u);
  const tests::DoubleNetwork network(model);
  double sum = 0;
  for (std::size_t i = 0; i < 37; ++i) {
    const double error =
        network.error(wide_parameters_of(model), tests::image_of(data->test, static_cast<std::int64_t>(i)));
    EXPECT_NEAR(found.answers[i].mse, error, 1e-5 * (1 + error)) << i;
    EXPECT_NEAR(found.answers[i].psnr, -10 * std::log10(error), 1e-3) << i;
    sum += error;
  }
  ASSERT_TRUE(found.mse);
  EXPECT_NEAR(*found.mse, sum / 37, 1e-5 * (1 + sum / 37));
  EXPECT_FALSE(found.accuracy);
}

TEST_P(InferenceOn, AnyBatchGivesTheSameAnswers) {
  for (const models::Model& model : {tests::tiny_classifier(), tests::tiny_model()}) {
    const Outcome whole = ask(model, 37);
    EXPECT_EQ(whole.batches, 1);
    for (const int batch : {1, 7, 36, 64}) {
      const Outcome parts = ask(model, batch);
      EXPECT_EQ(parts.batch, batch);
      EXPECT_EQ(parts.batches, (37 + batch - 1) / batch);
      ASSERT_EQ(parts.answers.size(), 37u);
      for (std::size_t i = 0; i < 37; ++i) {
        const Answer &one = parts.answers[i], &other = whole.answers[i];
        EXPECT_NEAR(one.mse, other.mse, 1e-6) << batch << ' ' << i;
        ASSERT_EQ(one.guesses.size(), other.guesses.size());
        for (std::size_t n = 0; n < one.guesses.size(); ++n) {
          EXPECT_EQ(one.guesses[n].label, other.guesses[n].label) << batch << ' ' << i;
          EXPECT_NEAR(one.guesses[n].probability, other.guesses[n].probability, 1e-6) << batch << ' ' << i;
        }
      }
    }
  }
}

TEST_P(InferenceOn, EveryLayerIsTimedInItsOrder) {
  const models::Model model = tests::tiny_classifier();
  const Outcome found = ask(model, 8);
  std::vector<std::string> names;
  for (const LayerLatency& layer : found.layers) {
    names.push_back(layer.layer);
    if (!layer.inside.empty()) continue;
    EXPECT_GT(layer.time.median, 0) << layer.layer;
    EXPECT_GE(layer.time.p99, layer.time.median) << layer.layer;
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"batch.gather", "conv1", "relu1", "pool1", "fc1", "relu2", "fc2"}));
  for (const Latency& part : {found.read, found.network, found.total}) EXPECT_GT(part.median, 0);
  EXPECT_GE(found.total.median, found.read.median);
  EXPECT_GT(found.seconds, 0);
}

TEST_P(InferenceOn, EndsBetweenBatchesWhenAsked) {
  const auto source = test_images_of(images_for(tests::tiny_classifier()));
  std::vector<std::int64_t> seen;
  const Outcome found = ask(tests::tiny_classifier(), *source, 8, [&](std::int64_t answers) {
    seen.push_back(answers);
    return answers < 16;
  });
  EXPECT_TRUE(found.interrupted);
  EXPECT_EQ(found.answers.size(), 16u);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 8, 16}));
}

TEST(InferenceTest, ALayerInsideTheCallOfAnotherNamesIt) {
  const auto device = core::open_device("cpu");
  const auto stream = device->make_stream();
  const models::Model model = tests::tiny_classifier();
  const auto source = test_images_of(images_for(model));
  // The fastest variants, which cover what comes behind them.
  const Outcome found =
      Inference(model, models::initial_parameters(model, 3), {}, 8, device, *stream).run(*source);
  for (const LayerLatency& layer : found.layers) {
    if (layer.inside.empty()) {
      EXPECT_GT(layer.time.median, 0) << layer.layer;
      continue;
    }
    EXPECT_EQ(layer.time.median, 0) << layer.layer;
    const auto same = [&](const LayerLatency& other) { return other.layer == layer.inside; };
    EXPECT_TRUE(std::any_of(found.layers.begin(), found.layers.end(), same)) << layer.inside;
  }
}

TEST(InferenceTest, SeveralViewsAreForNetworksThatClassify) {
  const auto device = core::open_device("cpu");
  const auto stream = device->make_stream();
  const models::Model model = tests::tiny_model();
  const auto refusal = [&](const plan::ViewSettings& views) {
    return tests::message_of<core::BadInput>(
        [&] { Inference(model, models::initial_parameters(model, 3), {}, 2, device, *stream, views); });
  };
  EXPECT_TRUE(tests::holds(refusal({.mirrored = true}),
                           {"model tiny tells no classes apart", "leave test_mirrored off"}));
  EXPECT_TRUE(
      tests::holds(refusal({.shift = 2}), {"model tiny tells no classes apart", "leave test_shift off"}));
}

TEST(InferenceTest, ImagesOfWhichNoneCanBeReadAreRefused) {
  const tests::TemporaryFolder folder;
  const auto device = core::open_device("cpu");
  const auto stream = device->make_stream();
  const models::Model model = tests::tiny_classifier();
  Inference network(model, models::initial_parameters(model, 3), {}, 2, device, *stream);
  std::string notice;
  tests::write_text(folder.path() / "a.png", "no picture");
  const auto refusal = [&] {
    const auto source = open_images(folder.path().string(), {{8, 8, 3}, 3}, {}, notice);
    return tests::message_of<core::BadInput>([&] { network.run(*source); });
  };
  EXPECT_EQ(refusal(), (folder.path() / "a.png").string() +
                           " is no picture that can be read, which are PNG, JPEG, WebP, BMP, PPM or PGM");
  tests::write_text(folder.path() / "b.jpg", "no picture");
  EXPECT_TRUE(tests::holds(refusal(), {"none of 2 pictures in", "can be read:", "a.png is no picture"}));
}

TEST_P(InferenceOn, AnswersThatAreNotFiniteAreNone) {
  for (const bool classifies : {true, false}) {
    const models::Model model = classifies ? tests::tiny_classifier() : tests::tiny_model();
    const std::vector<float> nothing(parameters_of(model).size(), std::numeric_limits<float>::quiet_NaN());
    Inference network(model, nothing, tests::plain_selection(GetParam()), 8, device, *stream);
    const Outcome found = network.run(*test_images_of(images_for(model)));
    EXPECT_EQ(found.answers.size(), 37u);
    EXPECT_EQ(found.not_finite, 37);
    EXPECT_TRUE(found.answers.front().guesses.empty());
    EXPECT_FALSE(found.accuracy || found.mse || found.psnr);
  }
}

TEST(LatencyTest, IsTheMedianAndWhatNinetyNineOfAHundredDoNotExceed) {
  std::vector<double> times(101);
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = static_cast<double>((i * 37) % 101);
  EXPECT_DOUBLE_EQ(latency_of(times).median, 50);
  EXPECT_DOUBLE_EQ(latency_of(times).p99, 99);
  EXPECT_DOUBLE_EQ(latency_of({3}).p99, 3);
  EXPECT_DOUBLE_EQ(latency_of({}).median, 0);
}

}  // namespace
}  // namespace warpscope::inference::inference_test
