#include "ui/panels/curves/loss_history.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/changes.h"
#include "tests/support/points.h"

namespace warpscope::ui::loss_history_test {
namespace {

training::Point step(std::uint64_t number, float loss) {
  return tests::step_point(number, static_cast<double>(number) / 10, loss, 0.1f, 0,
                           static_cast<double>(number) * 0.5);
}

TEST(LossHistory, KeepsEveryStepAndTest) {
  LossHistory history;
  for (std::uint64_t i = 1; i <= 5000; ++i) history.consume(step(i, 1.0f / static_cast<float>(i)));
  history.consume(tests::test_point(5000, 500, 2500, 0.02f, 17.0f));
  EXPECT_EQ(history.curves().train.size(), 5000u);
  EXPECT_EQ(history.curves().smoothed.size(), 5000u);
  EXPECT_EQ(history.curves().train.x(4999), 5000);
  EXPECT_EQ(history.curves().test.size(), 1u);
}

TEST(LossHistory, OverTimeMovesCurvesAndMarkers) {
  LossHistory history;
  history.consume(step(1, 1));
  history.consume(step(2, 0.5f));
  history.consume(training::Marker{2, 1.0, "batch 64 -> 128"});
  history.choose(CurveChoice{.over = runs::Over::seconds});
  EXPECT_EQ(history.curves().train.x(1), 1.0);
  EXPECT_EQ(history.markers().at(0).marker.x, 1.0);
  history.choose(CurveChoice{});
  EXPECT_EQ(history.curves().train.x(1), 2.0);
  EXPECT_EQ(history.markers().at(0).marker.x, 2.0);
}

TEST(LossHistory, SmoothingChangesTheSmoothedCurveAlone) {
  LossHistory history;
  for (std::uint64_t i = 1; i <= 100; ++i) history.consume(step(i, i % 2 == 0 ? 1.0f : 3.0f));
  history.choose(CurveChoice{.smoothing = 1});
  EXPECT_TRUE(history.curves().smoothed.empty()) << "nothing to average";
  history.choose(CurveChoice{.smoothing = 100});
  EXPECT_NEAR(history.curves().smoothed.y(99), 2.0f, 0.1f);
  EXPECT_FLOAT_EQ(history.curves().train.y(99), 1.0f);
}

TEST(LossHistory, AveragesBeginAnewWhereEarlierWeightsCameBack) {
  const training::Marker back{50, 25, "back to earlier weights", true};
  LossHistory grown, read;
  for (std::uint64_t i = 1; i <= 90; ++i) {
    const training::Point point = step(i, i <= 50 ? 1e16f : 0.5f);
    grown.consume(point);
    read.consume(point);
    if (i == 50) grown.consume(back);
  }
  read.consume(back);  // a reader tells of markers behind the steps
  for (LossHistory* const history : {&grown, &read}) {
    while (history->busy()) history->advance(1000);
    EXPECT_FLOAT_EQ(history->curves().smoothed.y(49), 1e16f);
    EXPECT_FLOAT_EQ(history->curves().smoothed.y(50), 0.5f);
    history->choose(CurveChoice{.smoothing = 100});
    while (history->busy()) history->advance(1000);
    EXPECT_FLOAT_EQ(history->curves().smoothed.y(89), 0.5f);
    history->consume(step(60, 0.25f));  // gone on with from a checkpoint
    EXPECT_LE(history->curves().smoothed.y(59), 0.5f);
    history->consume(training::Restart{1});
    EXPECT_LE(history->curves().before.y(59), 0.5f);
    history->consume(training::Return{2, 0, 40});
    while (history->busy()) history->advance(1000);
    EXPECT_FLOAT_EQ(history->curves().smoothed.y(39), 1e16f);
    history->consume(step(41, 0.5f));
    EXPECT_GT(history->curves().smoothed.y(40), 1.0f) << "the earlier weights follow from these steps";
  }
}

TEST(LossHistory, RestartKeepsTheOlderCurveToCompareWith) {
  LossHistory history;
  history.consume(step(1, 1));
  history.consume(tests::test_point(1, 0.1, 0.5, 0.9f, 1.0f));
  history.consume(training::Marker{1, 0.5, "x"});
  history.consume(training::Restart{1});
  EXPECT_TRUE(history.curves().train.empty());
  EXPECT_TRUE(history.curves().test.empty());
  EXPECT_TRUE(history.markers().empty());
  EXPECT_TRUE(history.curves().test.empty());
  EXPECT_EQ(history.curves().before.size(), 1u);
  history.consume(training::Restart{2});
  EXPECT_EQ(history.curves().before.size(), 1u) << "a restart without a step has nothing to keep";
}

TEST(LossHistory, AReturnBringsTheCurveOfThatTrainingBack) {
  LossHistory history;
  for (std::uint64_t i = 1; i <= 5; ++i) history.consume(step(i, static_cast<float>(i)));
  history.consume(training::Marker{2, 0.5, "x"});
  history.consume(tests::test_point(4, 0.1, 0.5, 0.9f, 1.0f));
  history.consume(training::Restart{1});
  history.consume(step(1, 10));
  history.consume(training::Return{2, 0, 5});
  while (history.busy()) history.advance(1000);
  ASSERT_EQ(history.curves().train.size(), 5u);
  EXPECT_EQ(history.curves().train.y(4), 5.0f);
  EXPECT_EQ(history.markers().size(), 1u);
  EXPECT_EQ(history.curves().test.size(), 1u);
  EXPECT_EQ(history.curves().before.size(), 1u) << "the one that was left for it";
  history.consume(step(6, 6));
  EXPECT_EQ(history.curves().train.size(), 6u);
  history.consume(training::Return{3, 1, 1});
  while (history.busy()) history.advance(1000);
  ASSERT_EQ(history.curves().train.size(), 1u);
  EXPECT_EQ(history.curves().train.y(0), 10.0f);
  history.consume(training::Return{4, 2, 3});
  while (history.busy()) history.advance(1000);
  EXPECT_EQ(history.curves().train.size(), 3u) << "what came after the step does not";
  EXPECT_TRUE(history.curves().test.empty());
}

TEST(LossHistory, DescribesTheNearestStep) {
  LossHistory history;
  EXPECT_EQ(history.describe(3), "");
  for (std::uint64_t i = 1; i <= 2000; ++i) history.consume(step(i, 1));
  EXPECT_EQ(history.describe(1233.7), "step 1,234 \xC2\xB7 epoch 123.40 \xC2\xB7 10:17 \xC2\xB7 rate 0.1");
}

TEST(LossHistory, OverEpochsMarkersStandAtTheirSteps) {
  LossHistory history;
  history.consume(step(1, 1));
  history.consume(step(2, 1));
  history.consume(training::Marker{2, 1.0, "rate"});
  history.consume(training::Marker{0, 0.0, "start"});
  history.choose(CurveChoice{.over = runs::Over::epoch});
  EXPECT_FLOAT_EQ(static_cast<float>(history.curves().train.x(1)), 0.2f);
  EXPECT_FLOAT_EQ(static_cast<float>(history.markers().at(0).marker.x), 0.2f);
  EXPECT_EQ(history.markers().at(1).marker.x, 0.0);
}

TEST(LossHistory, EveryMetricHasItsCurve) {
  LossHistory history;
  training::Point point = step(1, 2);
  point[Metric::accuracy] = 0.5f;
  point[Metric::gradient_norm] = 3;
  point[Metric::update_ratio] = 0.001f;
  point[Metric::loss_scale] = 65536;
  history.consume(point);
  point.step = 2;
  point[Metric::images_per_second] = 1000;
  history.consume(point);
  const auto value = [&](Metric metric) {
    history.choose(CurveChoice{.metric = metric});
    return history.curves().train.y(1);
  };
  EXPECT_FLOAT_EQ(value(Metric::loss), 2);
  EXPECT_FLOAT_EQ(value(Metric::accuracy), 50) << "in percent";
  EXPECT_FLOAT_EQ(value(Metric::gradient_norm), 3);
  EXPECT_FLOAT_EQ(value(Metric::update_ratio), 0.001f);
  EXPECT_FLOAT_EQ(value(Metric::learning_rate), 0.1f);
  EXPECT_TRUE(history.curves().smoothed.empty()) << "a rate is not averaged";
  EXPECT_FLOAT_EQ(value(Metric::loss_scale), 65536);
  EXPECT_FLOAT_EQ(value(Metric::images_per_second), 1000);
  EXPECT_TRUE(std::isnan(history.curves().train.y(0))) << "the first step after a pause has no speed";
}

TEST(LossHistory, AHeadHasCurvesFromWhereItCame) {
  LossHistory history;
  history.consume(step(1, 2));
  history.consume(tests::test_point(1, 0.1, 0.5, 0.9f));
  training::Point point = step(2, 2);
  point[Metric::head_loss] = 2.25f;
  point[Metric::head_accuracy] = 0.125f;
  history.consume(point);
  training::Point test = tests::test_point(2, 0.1, 0.5, 0.9f);
  test[Metric::head_loss] = 2.5f;
  test[Metric::head_accuracy] = 0.25f;
  history.consume(test);
  history.choose(CurveChoice{.metric = Metric::head_loss});
  EXPECT_TRUE(std::isnan(history.curves().train.y(0)));
  EXPECT_FLOAT_EQ(history.curves().train.y(1), 2.25f);
  ASSERT_EQ(history.curves().test.size(), 1u);
  EXPECT_FLOAT_EQ(history.curves().test.y(0), 2.5f);
  history.choose(CurveChoice{.metric = Metric::head_accuracy});
  EXPECT_FLOAT_EQ(history.curves().train.y(1), 12.5f) << "in percent";
  EXPECT_FLOAT_EQ(history.curves().test.y(0), 25);
}

TEST(Metrics, SayHowToGetAHead) {
  training::Snapshot snapshot;
  snapshot.state = training::TrainerState::running;
  const MetricsSeen none{};
  EXPECT_NE(why_missing(Metric::head_loss, snapshot, none).find("--joint"), std::string::npos);
  tests::settings_of(snapshot).optimizer.joint = 0.5f;
  EXPECT_EQ(why_missing(Metric::head_loss, snapshot, none), "");
  tests::settings_of(snapshot).optimizer.joint = 0;
  snapshot.classifies = true;
  EXPECT_NE(why_missing(Metric::head_accuracy, snapshot, none).find("classifies"), std::string::npos);
}

TEST(LossHistory, SplitsOfHeldOutImagesAreCurvesOfTheirOwn) {
  LossHistory history;
  training::Point point =
      tests::test_point(1, 0.1, 0.5, 0.9f, tests::kNone, 0.25f, training::Split::validation);
  history.consume(point);
  point.split = training::Split::test;
  history.consume(point);
  EXPECT_EQ(history.curves().test.size(), 1u);
  EXPECT_EQ(history.curves().validation.size(), 1u);
  history.choose(CurveChoice{.metric = Metric::accuracy});
  EXPECT_FLOAT_EQ(history.curves().validation.y(0), 25);
  history.choose(CurveChoice{.metric = Metric::gradient_norm});
  EXPECT_TRUE(history.curves().test.empty()) << "it is not measured on held-out images";
}

TEST(LossHistory, SkippedStepsAreMarkedOnTheLossScale) {
  LossHistory history;
  training::Point point = step(1, 1);
  point[Metric::loss_scale] = 1024;
  history.consume(point);
  point = step(2, 1);
  point[Metric::loss_scale] = 512;
  point.skipped = true;
  history.consume(point);
  EXPECT_TRUE(history.curves().skipped.empty()) << "they are marks of the scale";
  history.choose(CurveChoice{.metric = Metric::loss_scale});
  ASSERT_EQ(history.curves().skipped.size(), 1u);
  EXPECT_EQ(history.curves().skipped.x(0), 2);
  EXPECT_FLOAT_EQ(history.curves().skipped.y(0), 512);
}

TEST(LossHistory, PlotsHaveCurvesOfTheirOwn) {
  LossHistory history;
  training::Point point = step(1, 2);
  point[Metric::gradient_norm] = 3;
  history.consume(point);
  const std::vector<CurveChoice> choices{{.metric = Metric::gradient_norm}, {.metric = Metric::psnr}, {}};
  history.choose(choices);
  point.step = 2;
  point[Metric::gradient_norm] = 4;
  history.consume(point);
  history.consume(tests::test_point(2, 0.2, 1, 0.9f, 17.5f));
  ASSERT_EQ(history.plots(), 3u);
  EXPECT_EQ(history.curves(0).train.size(), 2u);
  EXPECT_FLOAT_EQ(history.curves(0).train.y(1), 4);
  EXPECT_TRUE(history.curves(1).train.empty()) << "no step has a PSNR";
  ASSERT_EQ(history.curves(1).test.size(), 1u);
  EXPECT_FLOAT_EQ(history.curves(1).test.y(0), 17.5f);
  EXPECT_FLOAT_EQ(history.curves(2).train.y(1), 2);
  EXPECT_FLOAT_EQ(history.curves(2).test.y(0), 0.9f);
}

TEST(LossHistory, AChoiceThatStaysKeepsItsPoints) {
  LossHistory history;
  history.consume(step(1, 2));
  const std::uint64_t before = history.curves().train.generation();
  std::vector<CurveChoice> choices{{}, {.metric = Metric::learning_rate}};
  history.choose(choices);
  EXPECT_EQ(history.curves(0).train.generation(), before) << "it is not made anew";
  choices.front().over = choices.back().over = runs::Over::seconds;
  history.choose(choices);
  EXPECT_NE(history.curves(0).train.generation(), before);
  EXPECT_EQ(history.curves(1).train.x(0), 0.5);
}

TEST(LossHistory, NetworksThatClassifyHaveNoPsnr) {
  LossHistory history;
  history.choose(CurveChoice{.metric = Metric::psnr});
  history.consume(tests::test_point(1, 0.1, 1, 0.9f, tests::kNone, 0.5f));
  EXPECT_TRUE(history.curves().test.empty());
  training::Snapshot snapshot;
  snapshot.classifies = true;
  EXPECT_NE(why_missing(Metric::psnr, snapshot, history.seen()), "");
  snapshot.classifies = false;
  EXPECT_EQ(why_missing(Metric::psnr, snapshot, history.seen()), "");
}

TEST(LossHistory, ProbesOfTheFeaturesAreACurveOfTheirOwn) {
  LossHistory history;
  const std::vector<CurveChoice> choices{{.metric = Metric::feature_accuracy}, {.metric = Metric::loss}};
  history.choose(choices);
  history.consume(step(1, 0.5f));
  history.consume(tests::test_point(1, 0.1, 1, 0.9f, 20));
  EXPECT_TRUE(history.curves(0).test.empty()) << "a test has none";
  history.consume(tests::probe_point(1, 0.1, 1, 0.25f));
  history.consume(tests::probe_point(9, 0.9, 9, 0.5f));
  history.consume(tests::probe_point(4, 0.4, 10, 0.75f));  // late, from before the training went on
  ASSERT_EQ(history.curves(0).test.size(), 2u);
  EXPECT_EQ(history.curves(0).test.x(1), 9);
  EXPECT_FLOAT_EQ(history.curves(0).test.y(1), 50);
  EXPECT_EQ(history.curves(1).test.size(), 1u);
  EXPECT_TRUE(history.curves(0).train.empty());
  history.consume(training::Restart{1});
  EXPECT_TRUE(history.curves(0).test.empty());
}

TEST(LossHistory, FindsStepsByTheirPlaceAndPlacesByTheirStep) {
  LossHistory history;
  EXPECT_FALSE(history.step_at(5));
  EXPECT_FALSE(history.place_of(5));
  for (const std::uint64_t number : {10u, 20u, 40u}) history.consume(step(number, 1));
  EXPECT_EQ(history.step_at(-7), 10u);
  EXPECT_EQ(history.step_at(29), 20u);
  EXPECT_EQ(history.step_at(31), 40u);
  EXPECT_EQ(history.step_at(99), 40u);
  history.choose(CurveChoice{.over = runs::Over::seconds});
  EXPECT_EQ(history.step_at(11), 20u);
  EXPECT_EQ(history.place_of(20), 10.0);
  EXPECT_EQ(history.place_of(39), 10.0) << "the step before it";
  EXPECT_FALSE(history.place_of(9)) << "before the first";
  EXPECT_EQ(history.end(), 20.0);
}

TEST(Metrics, ANewPlotShowsWhatIsNotShownYet) {
  training::Snapshot snapshot;
  snapshot.state = training::TrainerState::running;
  const MetricsSeen none{};
  EXPECT_EQ(metric_for_another(std::vector{Metric::accuracy}, snapshot, none), Metric::loss);
  EXPECT_EQ(metric_for_another(std::vector{Metric::loss}, snapshot, none), Metric::gradient_norm)
      << "an autoencoder has no accuracy";
  std::vector<Metric> all;
  for (const MetricFacts& facts : training::metrics()) all.push_back(facts.metric);
  EXPECT_EQ(metric_for_another(all, snapshot, none), Metric::loss);
}

TEST(LossHistory, GoingBackReplacesWhatCameAfter) {
  LossHistory history;
  for (std::uint64_t i = 1; i <= 10; ++i) history.consume(step(i, 1));
  history.consume(tests::test_point(10, 1, 5, 0.9f, 1.0f));
  history.consume(step(6, 0.5f));
  EXPECT_EQ(history.steps(), 6u);
  EXPECT_EQ(history.curves().train.x(5), 6);
  EXPECT_FLOAT_EQ(history.curves().train.y(5), 0.5f);
  EXPECT_TRUE(history.curves().test.empty());
  history.consume(step(7, 0.4f));
  EXPECT_EQ(history.curves().train.size(), 7u);
}

TEST(LossHistory, KnowsWhichMetricsHaveValues) {
  LossHistory history;
  training::Snapshot snapshot;
  snapshot.state = training::TrainerState::running;
  history.consume(step(1, 1));
  snapshot.step = 1;
  EXPECT_EQ(why_missing(Metric::loss, snapshot, history.seen()), "");
  EXPECT_EQ(why_missing(Metric::learning_rate, snapshot, history.seen()), "");
  EXPECT_NE(why_missing(Metric::accuracy, snapshot, history.seen()), "");
  EXPECT_NE(why_missing(Metric::gradient_norm, snapshot, history.seen()), "");
  EXPECT_NE(why_missing(Metric::loss_scale, snapshot, history.seen()), "");
  snapshot.classifies = true;
  snapshot.selection.precision = core::Precision::fp16;
  EXPECT_EQ(why_missing(Metric::accuracy, snapshot, history.seen()), "");
  EXPECT_EQ(why_missing(Metric::loss_scale, snapshot, history.seen()), "");
  training::Point point = step(2, 1);
  point[Metric::gradient_norm] = 1;
  history.consume(point);
  EXPECT_EQ(why_missing(Metric::gradient_norm, snapshot, history.seen()), "");
}

// More than are made at once.
constexpr std::uint64_t kMany = 250'000;

void consume_many(LossHistory& history, std::uint64_t last = kMany) {
  for (std::uint64_t i = history.steps() + 1; i <= last; ++i) {
    training::Point point = step(i, 1 + 1.0f / static_cast<float>(i % 97 + 1));
    point[Metric::gradient_norm] = 2.0f + static_cast<float>(i % 31);
    history.consume(point);
  }
}

void finish(LossHistory& history) {
  for (int i = 0; i < 1000 && history.busy(); ++i) history.advance(10'000);
}

// Holds curves that were made in slices against those that grew with the training.
void expect_as_grown(const LossHistory& history, const CurveChoice& choice, std::uint64_t last) {
  LossHistory grown;
  grown.choose(choice);
  consume_many(grown, last);
  const MetricCurves &a = history.curves(), &b = grown.curves();
  ASSERT_EQ(a.train.size(), b.train.size());
  ASSERT_EQ(a.smoothed.size(), b.smoothed.size());
  for (std::size_t i = 0; i < a.train.size(); ++i) {
    ASSERT_EQ(a.train.x(i), b.train.x(i)) << i;
    ASSERT_EQ(a.train.y(i), b.train.y(i)) << i;
    ASSERT_EQ(a.smoothed.y(i), b.smoothed.y(i)) << i;
  }
  const plot::Extent of_a = a.train.extent(3, a.train.size() - 5),
                     of_b = b.train.extent(3, b.train.size() - 5);
  EXPECT_EQ(of_a.low, of_b.low);
  EXPECT_EQ(of_a.high, of_b.high);
}

TEST(LossHistory, LongCurvesAreMadeInSlicesAndThoseOfBeforeStayUntilThen) {
  LossHistory history;
  consume_many(history);
  const std::uint64_t before = history.curves().train.generation();
  const CurveChoice gradient{.metric = Metric::gradient_norm};
  history.choose(gradient);
  EXPECT_TRUE(history.busy());
  EXPECT_EQ(history.curves().choice.metric, Metric::loss);
  EXPECT_EQ(history.curves().train.generation(), before);
  history.choose(gradient);
  history.advance(1000);
  EXPECT_TRUE(history.busy()) << "the same choice again does not begin anew, nor is it whole yet";
  consume_many(history, kMany + 100);
  EXPECT_EQ(history.curves().train.size(), kMany + 100) << "the curves in view go on";
  finish(history);
  EXPECT_FALSE(history.busy());
  EXPECT_EQ(history.curves().choice, gradient);
  expect_as_grown(history, gradient, kMany + 100);
  consume_many(history, kMany + 200);
  expect_as_grown(history, gradient, kMany + 200);
}

TEST(LossHistory, AnotherAxisTakesNoSlices) {
  LossHistory history;
  consume_many(history);
  history.consume(tests::test_point(kMany, 7, 9, 0.9f, 17.0f));
  const CurveChoice seconds{.over = runs::Over::seconds};
  history.choose(seconds);
  EXPECT_FALSE(history.busy());
  EXPECT_EQ(history.curves().test.x(0), 9);
  expect_as_grown(history, seconds, kMany);
}

TEST(LossHistory, TheAxisCanChangeWhileCurvesAreMade) {
  LossHistory history;
  consume_many(history);
  history.choose(CurveChoice{.smoothing = 50});
  ASSERT_TRUE(history.busy());
  const CurveChoice epochs{.over = runs::Over::epoch, .smoothing = 50};
  history.choose(epochs);
  EXPECT_EQ(history.curves().train.x(9), 1.0) << "those in view have it at once";
  finish(history);
  expect_as_grown(history, epochs, kMany);
}

TEST(LossHistory, ANewPlotIsEmptyUntilItsCurvesAreMade) {
  LossHistory history;
  consume_many(history);
  history.choose(std::vector<CurveChoice>{{}, {.metric = Metric::gradient_norm}});
  EXPECT_TRUE(history.busy(1));
  consume_many(history, kMany + 10);
  EXPECT_TRUE(history.curves(1).train.empty());
  finish(history);
  EXPECT_EQ(history.curves(1).train.size(), kMany + 10);
  const std::uint64_t second = history.curves(1).train.generation();
  history.choose(CurveChoice{.metric = Metric::gradient_norm});
  EXPECT_FALSE(history.busy()) << "a closed plot leaves the others their curves";
  EXPECT_EQ(history.curves(0).train.generation(), second);
}

TEST(LossHistory, GoingBackAndResetsWhileCurvesAreMade) {
  LossHistory history;
  consume_many(history);
  const CurveChoice choice{.metric = Metric::gradient_norm};
  history.choose(choice);
  training::Point again = step(1001, 5);
  again[Metric::gradient_norm] = 9;
  history.consume(again);
  finish(history);
  ASSERT_EQ(history.curves().train.size(), 1001u);
  EXPECT_EQ(history.curves().train.y(1000), 9);
  consume_many(history);
  history.choose(CurveChoice{});
  history.consume(training::Restart{1});
  finish(history);
  EXPECT_TRUE(history.curves().train.empty());
  ASSERT_EQ(history.curves().before.size(), kMany);
  EXPECT_EQ(history.curves().before.x(kMany - 1), kMany);
}

TEST(StepTable, WhatNeverChangesTakesNoRoom) {
  CompactColumn column;
  for (int i = 0; i < 1000; ++i) column.append(1);
  EXPECT_TRUE(column.constant());
  column.append(2);
  EXPECT_FALSE(column.constant());
  EXPECT_EQ(column.size(), 1001u);
  EXPECT_EQ(column[0], 1);
  EXPECT_EQ(column[999], 1);
  EXPECT_EQ(column[1000], 2);
  column.cut(500);
  EXPECT_EQ(column.size(), 500u);
  column.append(7);
  EXPECT_EQ(column[500], 7);
  CompactColumn gaps;
  gaps.append(std::numeric_limits<float>::quiet_NaN());
  gaps.append(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(gaps.constant());
}

}  // namespace
}  // namespace warpscope::ui::loss_history_test
