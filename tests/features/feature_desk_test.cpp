// The desk says of features what the parts that it is made of say, reuses what it can, and lets go when told.

#include "gpu/features/feature_desk.h"

#include <cmath>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/features/extractor.h"
#include "gpu/models/parameters.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/untrained.h"

namespace warpscope::features::feature_desk_test {
namespace {

using tests::untrained;

std::shared_ptr<const data::DataSet> patches(std::int64_t train = 120, std::int64_t test = 45) {
  return std::make_shared<data::DataSet>(tests::labelled_data(train, test));
}

TrialRequest request_of(const Subject& subject, const std::string& classifier = "rbf") {
  TrialRequest request;
  request.subject = subject;
  request.layers = "pool1";
  request.judgement.classifier = classifier;
  return request;
}

/// What one try by hand asks for.
Judgement by_hand(const TrialRequest& request) {
  const auto device = core::open_device("cpu");
  const auto stream = device->make_stream();
  const classifiers::Place place{device, stream.get()};
  const Subject& subject = request.subject;
  const FeatureLayers layers = parse_feature_layers(request.layers, subject.model);
  const auto rows_of = [&](const data::ImageSet& set) {
    LabelledRows rows;
    rows.values =
        features_of(set, subject.model, *subject.parameters, layers, {core::Precision::fp32, {}}, place);
    rows.labels.assign(set.labels.begin(), set.labels.end());
    rows.columns = columns_of(layers);
    rows.classes = 3;
    return rows;
  };
  LabelledRows training = rows_of(subject.data->whole->train), test = rows_of(subject.data->whole->test);
  if (request.standardize) standardize(training, test, place);
  return judge(training, test, request.judgement, place);
}

TEST(Samples, LieAtEqualDistancesAndKeepTheirLabels) {
  const data::ImageSet set = tests::labelled_images(10, 5);
  const Sample sample = sample_of(set, 4);
  EXPECT_EQ(sample.places, (std::vector<std::int64_t>{0, 2, 5, 7}));
  ASSERT_EQ(sample.set.count, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto place = static_cast<std::size_t>(sample.places[i]);
    EXPECT_EQ(sample.set.labels[i], set.labels[place]);
    for (std::size_t byte = 0; byte < 192; ++byte)
      ASSERT_EQ(sample.set.pixels[i * 192 + byte], set.pixels[place * 192 + byte]);
  }
  EXPECT_EQ(sample_of(set, 0).set.count, 10);
  EXPECT_EQ(sample_of(set, 11).places.size(), 10u);
}

class Trials : public testing::Test {
 protected:
  FeatureTrial trial{core::open_device("cpu")};
};

TEST_F(Trials, SayWhatTheirPartsSay) {
  const Subject subject = untrained(patches());
  for (const char* const classifier : {"rbf", "linear", "softmax"}) {
    for (const bool standardized : {true, false}) {
      SCOPED_TRACE(classifier);
      TrialRequest request = request_of(subject, classifier);
      request.standardize = standardized;
      const TrialResult found = trial.judge(request);
      const Judgement wanted = by_hand(request);
      EXPECT_EQ(found.judgement.prediction.labels, wanted.prediction.labels);
      EXPECT_EQ(found.accuracy, wanted.test.accuracy);
      EXPECT_EQ(found.c, wanted.c);
      EXPECT_DOUBLE_EQ(found.judgement.fit.objective, wanted.fit.objective);
      EXPECT_EQ(found.step, 73u);
      EXPECT_EQ(found.layers, "pool1");
      EXPECT_EQ(found.columns, 64);
      EXPECT_EQ(found.truth.size(), 45u);
    }
  }
}

TEST_F(Trials, UseFeaturesAndDistancesAgainWhereTheyAreTheSame) {
  const Subject subject = untrained(patches());
  TrialRequest request = request_of(subject);
  const TrialResult first = trial.judge(request);
  EXPECT_GT(first.feature_seconds, 0);
  EXPECT_GT(first.prepare_seconds, 0);
  EXPECT_GT(first.support_vectors, 0);
  request.judgement.settings.c = 0.5;
  request.judgement.settings.gamma = "0.01";
  const TrialResult again = trial.judge(request);
  EXPECT_EQ(again.feature_seconds, 0);
  EXPECT_EQ(again.prepare_seconds, 0);
  EXPECT_EQ(again.gamma_value, 0.01);
  EXPECT_EQ(again.judgement.prediction.labels, by_hand(request).prediction.labels);
  request.layers = "relu2";
  EXPECT_GT(trial.judge(request).feature_seconds, 0);
  request.subject = untrained(subject.data->whole, 4);
  const TrialResult other = trial.judge(request);
  EXPECT_GT(other.feature_seconds, 0);
  EXPECT_EQ(other.step, 74u);
  EXPECT_EQ(other.judgement.prediction.labels, by_hand(request).prediction.labels);
}

TEST_F(Trials, OfASampleNameThePlacesOfItsImages) {
  const Subject subject = untrained(patches(120, 45));
  TrialRequest request = request_of(subject);
  request.limits = TrialLimits{60, 9};
  const TrialResult found = trial.judge(request);
  EXPECT_EQ(found.training_rows, 60);
  EXPECT_EQ(found.test_images, (std::vector<std::int64_t>{0, 5, 10, 15, 20, 25, 30, 35, 40}));
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_EQ(found.truth[i],
              subject.data->whole->test.labels[static_cast<std::size_t>(found.test_images[i])]);
  ASSERT_FALSE(found.heaviest.empty());
  for (std::size_t i = 0; i < found.heaviest.size(); ++i) {
    EXPECT_EQ(found.heaviest[i].image % 2, 0) << "only every second image was a row";
    EXPECT_GT(found.heaviest[i].weight, 0);
    EXPECT_LE(found.heaviest[i].weight, found.heaviest[i == 0 ? 0 : i - 1].weight);
  }
}

TEST_F(Trials, RefuseWhatCannotBe) {
  TrialRequest request = request_of(untrained(patches()));
  request.layers = "conv9";
  EXPECT_THROW(trial.judge(request), core::BadInput);
  request = request_of(untrained(patches()), "oracle");
  EXPECT_THROW(trial.judge(request), core::BadInput);
  request = request_of(untrained(patches()));
  request.judgement.settings.gamma = "-1";
  EXPECT_THROW(trial.judge(request), core::BadInput);
  request.judgement.settings.gamma = "scale";
  EXPECT_GT(trial.judge(request).accuracy, 0) << "the next one is served";
}

TEST_F(Trials, KeepBackEveryFifthRow) {
  const auto device = core::open_device("cpu");
  const auto stream = device->make_stream();
  LabelledRows rows;
  rows.columns = 2;
  rows.classes = 3;
  rows.values = core::Buffer(device, 13 * 2 * sizeof(float));
  for (int i = 0; i < 13; ++i) {
    rows.values.as<float>()[2 * i] = static_cast<float>(i);
    rows.values.as<float>()[2 * i + 1] = static_cast<float>(-i);
    rows.labels.push_back(i % 3);
  }
  const HeldRows made = hold_back(rows, {device, stream.get()});
  EXPECT_EQ(made.held.labels, (std::vector<int>{4 % 3, 9 % 3}));
  ASSERT_EQ(made.fitted.labels.size(), 11u);
  EXPECT_EQ(made.held.values.as<float>()[2], 9);
  EXPECT_EQ(made.fitted.values.as<float>()[2 * 4], 5);
  EXPECT_EQ(made.fitted.values.as<float>()[2 * 10 + 1], -12);
  rows.labels.resize(9);
  EXPECT_THROW(hold_back(rows, {device, stream.get()}), core::BadInput);
}

TEST_F(Trials, SearchEachCellOnRowsThatWereKeptBack) {
  GridRequest request{request_of(untrained(patches())), {{0.1, 10}, {0.25, 1, 4}}};
  std::vector<GridResult> seen;
  trial.search(request, [&](const GridResult& grid) { seen.push_back(grid); });
  ASSERT_EQ(seen.size(), 7u);
  EXPECT_EQ(seen.front().done(), 0);
  EXPECT_EQ(seen.front().best(), -1);
  const GridResult& last = seen.back();
  EXPECT_EQ(last.done(), 6);
  EXPECT_EQ(last.fitted_rows, 96);
  EXPECT_EQ(last.held_rows, 24);
  ASSERT_EQ(last.gammas.size(), 3u);
  EXPECT_DOUBLE_EQ(last.gammas[2], 16 * last.gammas[0]);
  for (const double accuracy : last.accuracy) {
    EXPECT_NEAR(accuracy * 24, std::round(accuracy * 24), 1e-9);
    EXPECT_LE(accuracy, last.accuracy[static_cast<std::size_t>(last.best())]);
  }
  request.trial.judgement.classifier = "linear";
  trial.search(request, [&](const GridResult& grid) { seen.push_back(grid); });
  EXPECT_EQ(seen.back().accuracy.size(), 2u) << "a linear classifier has no gamma";
}

/// A cell against a fit by hand to images that were kept back by hand.
TEST_F(Trials, SearchTellsWhatAFitToFourFifthsTells) {
  const auto data = patches(100, 30);
  data::DataSet split = *data;
  split.train = {8, 8, 3, 0, {}, {}};
  split.test = split.train;
  for (std::size_t i = 0; i < 100; ++i) {
    data::ImageSet& to = i % 5 == 4 ? split.test : split.train;
    const auto at = data->train.pixels.begin() + static_cast<std::ptrdiff_t>(i * 192);
    to.pixels.insert(to.pixels.end(), at, at + 192);
    to.labels.push_back(data->train.labels[i]);
    ++to.count;
  }
  GridRequest request{request_of(untrained(data)), {{3}, {2}}};
  GridResult found;
  trial.search(request, [&](const GridResult& grid) { found = grid; });
  TrialRequest wanted = request_of(untrained(std::make_shared<const data::DataSet>(split)));
  wanted.judgement.settings.c = 3;
  wanted.judgement.settings.gamma = fmt::format("{}", found.gammas[0]);
  EXPECT_NEAR(found.accuracy[0], by_hand(wanted).test.accuracy, 1e-12);
}

class Desk : public testing::Test {
 protected:
  static std::shared_ptr<const DeskState> wait_for(const FeatureDesk& desk) {
    auto state = desk.state();
    while (state->work != DeskWork::none) {
      std::this_thread::yield();
      state = desk.state();
    }
    return state;
  }
};

TEST_F(Desk, KeepsAllTriesAndTheLastResult) {
  FeatureDesk desk;
  EXPECT_EQ(desk.state()->result, nullptr);
  const Subject subject = untrained(patches());
  desk.start_trial(request_of(subject));
  EXPECT_EQ(desk.state()->last, DeskWork::trial);
  wait_for(desk);
  desk.start_trial(request_of(subject, "linear"));
  const auto state = wait_for(desk);
  EXPECT_EQ(state->failure, "");
  ASSERT_EQ(state->tries->size(), 2u);
  EXPECT_EQ(state->tries->front().classifier, "rbf");
  EXPECT_EQ(state->result->classifier, "linear");
  EXPECT_EQ(state->result->feature_seconds, 0);
}

TEST_F(Desk, SaysWhatFailedAndGoesOn) {
  FeatureDesk desk;
  TrialRequest request = request_of(untrained(patches()));
  request.layers = "conv9";
  desk.start_trial(request);
  const auto failed = wait_for(desk);
  EXPECT_NE(failed->failure.find("conv9"), std::string::npos);
  EXPECT_FALSE(failed->cancelled);
  EXPECT_TRUE(failed->tries->empty());
  request.layers = "pool1";
  desk.start_trial(request);
  EXPECT_EQ(wait_for(desk)->tries->size(), 1u);
}

TEST_F(Desk, SaysThatThereIsTooLittleMemory) {
  FeatureDesk desk([](const std::string&) -> std::shared_ptr<core::Device> {
    throw core::OutOfMemory("too little memory for 9 GiB");
  });
  desk.start_trial(request_of(untrained(patches())));
  EXPECT_EQ(wait_for(desk)->failure, "too little memory for 9 GiB");
}

/// Work that takes long: many fits.
GridRequest long_search(const Subject& subject) {
  GridRequest request{request_of(subject), {}};
  for (int i = 0; i < 200; ++i) request.axes.cs.push_back(1 + i);
  for (int i = 0; i < 200; ++i) request.axes.gammas.push_back(0.5 + 0.01 * i);
  return request;
}

TEST_F(Desk, LetsGoOfASearchAndKeepsWhatItFound) {
  FeatureDesk desk;
  desk.start_search(long_search(untrained(patches())));
  while (!desk.state()->grid || desk.state()->grid->done() < 3) std::this_thread::yield();
  EXPECT_GT(desk.state()->part, 0);
  desk.cancel();
  const auto state = wait_for(desk);
  EXPECT_TRUE(state->cancelled);
  EXPECT_EQ(state->failure, "");
  EXPECT_GE(state->grid->done(), 3);
  EXPECT_LT(state->grid->done(), 40000);
}

TEST_F(Desk, ReplacesWhatIsUnderWay) {
  std::promise<void> looked;
  FeatureDesk desk([&](const std::string& id) {
    if (id == "another") looked.get_future().wait();
    return core::open_device("cpu");
  });
  Subject subject = untrained(patches());
  desk.start_search(long_search(subject));
  while (!desk.state()->grid) std::this_thread::yield();
  subject.device = "another";
  desk.start_trial(request_of(subject));
  EXPECT_EQ(desk.state()->work, DeskWork::trial);
  looked.set_value();
  const auto state = wait_for(desk);
  EXPECT_FALSE(state->cancelled) << "the try was not";
  EXPECT_EQ(state->tries->size(), 1u);
}

TEST_F(Desk, EndsWithWorkUnderWay) {
  auto desk = std::make_unique<FeatureDesk>();
  desk->start_search(long_search(untrained(patches())));
  while (!desk->state()->grid) std::this_thread::yield();
  desk.reset();
}

}  // namespace
}  // namespace warpscope::features::feature_desk_test
