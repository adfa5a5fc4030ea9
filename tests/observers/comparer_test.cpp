// What a comparison brings is what the networks compute: against a model in double precision.

#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"
#include "gpu/models/parameters.h"
#include "gpu/observers/observer_table.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/double_network.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::comparer_test {
namespace {

ObservationRequest asking(std::vector<Reconstructor> reconstructors, int count,
                          std::shared_ptr<const data::OwnImages> own = nullptr) {
  ObservationRequest request;
  request.comparison = ComparisonRequest{std::move(reconstructors), count, std::move(own)};
  return request;
}

Reconstructor by(plan::Selection selection) {
  Reconstructor reconstructor;
  reconstructor.selection = std::move(selection);
  return reconstructor;
}

Reconstructor from(const std::string& file) {
  Reconstructor reconstructor;
  reconstructor.weights_file = file;
  return reconstructor;
}

/// On streams of every kind.
class Comparisons : public testing::TestWithParam<tests::Streams> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
  }
  static EngineOptions options() {
    EngineOptions options = tests::tiny_engine_options();
    options.selection = tests::plain_selection(GetParam());
    return options;
  }
  std::unique_ptr<Engine> make(EngineOptions options) const {
    return std::make_unique<Engine>(std::move(options), data, device);
  }
  static std::shared_ptr<const Comparison> look(Engine& engine, Observer& comparer,
                                                const ObservationRequest& request) {
    comparer.ask(request);
    while (!comparer.start(engine.scene())) std::this_thread::yield();
    Observations seen;
    while (!comparer.take(seen)) std::this_thread::yield();
    return seen.comparison;
  }
  /// What the network makes of an image, in double precision.
  std::vector<double> wanted(const std::vector<float>& parameters, const data::ImageSet& set,
                             int image) const {
    return tests::DoubleNetwork(tests::tiny_model())
        .outputs({parameters.begin(), parameters.end()}, tests::image_of(set, image))
        .back();
  }
  static void expect_near(const std::vector<float>& found, int image, const std::vector<double>& values,
                          double tolerance = 2e-5) {
    const std::size_t first = static_cast<std::size_t>(image) * values.size();
    ASSERT_LE(first + values.size(), found.size());
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(found[first + i], values[i], tolerance) << i;
  }

  const std::shared_ptr<core::Device> device = tests::device_of(GetParam());
  const std::shared_ptr<data::DataSet> data = std::make_shared<data::DataSet>(tests::tiny_data(40, 300));
};

INSTANTIATE_TEST_SUITE_P(Streams, Comparisons, testing::ValuesIn(tests::kAllStreams),
                         [](const auto& which) { return tests::name_of(which.param); });

TEST_P(Comparisons, ShowTheSameImagesByEachReconstructorOfTheSameStep) {
  const auto engine = make(options());
  tests::run_steps(*engine, 3);
  const std::unique_ptr<Observer> comparer = make_comparer();
  const auto found = look(*engine, *comparer, asking({{}, by(tests::other_selection(GetParam()))}, 10));
  EXPECT_EQ(found->step, 3u);
  EXPECT_EQ(found->number, 1u);
  EXPECT_EQ(found->shape, (ImageShape{10, 8, 8, 3}));
  ASSERT_EQ(found->reconstructions.size(), 2u);
  const std::vector<float> parameters = engine->parameters();
  for (const Reconstruction& one : found->reconstructions) {
    EXPECT_EQ(one.failure, "");
    for (const int image : {0, 4, 9}) expect_near(one.values, image, wanted(parameters, data->test, image));
  }
  for (const int image : {0, 9})
    expect_near(found->original, image, tests::image_of(data->test, image), 1e-6);
}

TEST_P(Comparisons, TellTheErrorOfEachImage) {
  const auto engine = make(options());
  const std::unique_ptr<Observer> comparer = make_comparer();
  const auto found = look(*engine, *comparer, asking({{}}, 5));
  const Reconstruction& one = found->reconstructions.front();
  ASSERT_EQ(one.errors.size(), 5u);
  const std::size_t elements = 8 * 8 * 3;
  for (std::size_t image = 0; image < 5; ++image) {
    double sum = 0;
    for (std::size_t i = image * elements; i < (image + 1) * elements; ++i) {
      sum += std::pow(static_cast<double>(one.values[i]) - static_cast<double>(found->original[i]), 2);
    }
    EXPECT_NEAR(one.errors[image], sum / elements, 1e-6);
  }
}

TEST_P(Comparisons, OfManyImagesAllAreShown) {
  const auto engine = make(options());
  const std::unique_ptr<Observer> comparer = make_comparer();
  const auto found = look(*engine, *comparer, asking({{}}, 1000));
  EXPECT_EQ(found->shape.count, 300);
  const std::vector<float> parameters = engine->parameters();
  for (const int image : {0, 99, 100, 201, 299}) {
    expect_near(found->reconstructions.front().values, image, wanted(parameters, data->test, image));
    expect_near(found->original, image, tests::image_of(data->test, image), 1e-6);
  }
}

TEST_P(Comparisons, TakeWeightsFromAFile) {
  const auto engine = make(options());
  const tests::TemporaryFolder folder;
  const std::string file = (folder.path() / "weights.safetensors").string();
  const std::vector<float> before = engine->parameters();
  models::save_parameters(file, tests::tiny_model(), before);
  tests::run_steps(*engine, 20);
  const std::unique_ptr<Observer> comparer = make_comparer();
  const auto found = look(*engine, *comparer, asking({{}, from(file)}, 4));
  expect_near(found->reconstructions[0].values, 2, wanted(engine->parameters(), data->test, 2));
  expect_near(found->reconstructions[1].values, 2, wanted(before, data->test, 2));
}

TEST_P(Comparisons, WhatCannotBeSaysWhyAndTheOthersAreShown) {
  const auto engine = make(options());
  const tests::TemporaryFolder folder;
  const std::string missing = (folder.path() / "missing.safetensors").string();
  const std::string other = (folder.path() / "other.safetensors").string();
  const models::Model classifier = tests::tiny_classifier();
  models::save_parameters(other, classifier, models::initial_parameters(classifier, 1));
  const std::unique_ptr<Observer> comparer = make_comparer();
  Reconstructor unheard;
  unheard.selection = tests::plain_selection(GetParam());
  unheard.selection->variants[ops::Op::conv2d_forward] = "unheard";
  const auto found = look(*engine, *comparer, asking({from(missing), from(other), unheard, {}}, 4));
  EXPECT_NE(found->reconstructions[0].failure.find(missing), std::string::npos)
      << found->reconstructions[0].failure;
  EXPECT_NE(found->reconstructions[1].failure.find(other), std::string::npos)
      << found->reconstructions[1].failure;
  EXPECT_NE(found->reconstructions[2].failure.find("unheard"), std::string::npos)
      << found->reconstructions[2].failure;
  EXPECT_TRUE(found->reconstructions[0].values.empty());
  expect_near(found->reconstructions[3].values, 1, wanted(engine->parameters(), data->test, 1));
  EXPECT_FALSE(found->original.empty());
}

TEST_P(Comparisons, ReconstructImagesOfAPersonsOwn) {
  const auto engine = make(options());
  auto own = std::make_shared<data::OwnImages>();
  own->set = tests::smooth_images(3, 99);
  const std::unique_ptr<Observer> comparer = make_comparer();
  const auto found = look(*engine, *comparer, asking({{}}, 10, own));
  EXPECT_EQ(found->shape.count, 3);
  for (const int image : {0, 2}) {
    expect_near(found->original, image, tests::image_of(own->set, image), 1e-6);
    expect_near(found->reconstructions.front().values, image, wanted(engine->parameters(), own->set, image));
  }
}

TEST_P(Comparisons, ImagesOfAnotherSizeAreRefusedWithASentence) {
  const auto engine = make(options());
  auto own = std::make_shared<data::OwnImages>();
  own->set = {4, 8, 3, 1, std::vector<std::uint8_t>(96, 7), {}};
  const std::unique_ptr<Observer> comparer = make_comparer();
  const auto found = look(*engine, *comparer, asking({{}}, 10, own));
  EXPECT_NE(found->reconstructions.front().failure.find("4 x 8 x 3"), std::string::npos)
      << found->reconstructions.front().failure;
}

TEST_P(Comparisons, FollowTheSelectionOfTheTrainingWhereTheyHaveNone) {
  const auto engine = make(options());
  const std::unique_ptr<Observer> comparer = make_comparer();
  const auto before = look(*engine, *comparer, asking({{}, by(tests::plain_selection(GetParam()))}, 2));
  EXPECT_EQ(before->reconstructions[0].values, before->reconstructions[1].values);
  engine->set_selection(tests::other_selection(GetParam()));
  const auto after = look(*engine, *comparer, asking({{}, by(tests::other_selection(GetParam()))}, 2));
  EXPECT_EQ(after->reconstructions[0].values, after->reconstructions[1].values);
}

TEST_P(Comparisons, DisturbNothing) {
  const auto engine = make(options());
  const auto twin = make(options());
  const std::unique_ptr<Observer> comparer = make_comparer();
  look(*engine, *comparer, asking({{}, by(tests::other_selection(GetParam()))}, 10));
  EXPECT_EQ(tests::losses(tests::run_steps(*engine, 5)), tests::losses(tests::run_steps(*twin, 5)));
  look(*engine, *comparer, asking({by(tests::other_selection(GetParam()))}, 10));
  EXPECT_EQ(tests::losses(tests::run_steps(*engine, 5)), tests::losses(tests::run_steps(*twin, 5)));
}

TEST_P(Comparisons, WhatIsNoLongerAskedForIsDropped) {
  const auto engine = make(options());
  const std::unique_ptr<Observer> comparer = make_comparer();
  EXPECT_TRUE(comparer->ask(asking({{}}, 4)));
  EXPECT_FALSE(comparer->ask(asking({{}}, 4)));
  while (!comparer->start(engine->scene())) std::this_thread::yield();
  EXPECT_FALSE(comparer->start(engine->scene())) << "the one before has not been taken";
  EXPECT_TRUE(comparer->ask({}));
  EXPECT_FALSE(comparer->wanted());
  Observations seen;
  seen.comparison = std::make_shared<const Comparison>();
  comparer->end(seen);
  EXPECT_EQ(seen.comparison, nullptr);
  EXPECT_FALSE(comparer->take(seen));
}

TEST_P(Comparisons, ANetworkThatClassifiesSaysThatItReconstructsNothing) {
  EngineOptions of_classes = options();
  of_classes.model = tests::tiny_classifier();
  Engine engine(of_classes, std::make_shared<data::DataSet>(tests::labelled_data(40, 12)), device);
  const std::unique_ptr<Observer> comparer = make_comparer();
  const auto found = look(engine, *comparer, asking({{}}, 4));
  EXPECT_NE(found->reconstructions.front().failure.find("classifies"), std::string::npos);
  EXPECT_TRUE(found->original.empty());
}

}  // namespace
}  // namespace warpscope::training::comparer_test
