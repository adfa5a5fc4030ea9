// The step as lanes, the part of it that is seen, and shares over the run.

#include "ui/panels/kernels/time_rows.h"

#include <numeric>

#include <gtest/gtest.h>

#include "tests/support/changes.h"

namespace warpscope::ui::time_rows_test {
namespace {

using ops::Op;
using training::OpTiming;
using training::Snapshot;

OpTiming timing(Op op, const char* layer, double microseconds) {
  OpTiming result;
  result.op = op;
  result.layer = layer;
  result.variant = "naive";
  result.microseconds = microseconds;
  result.flops = 2e6;
  result.bytes = 4e4;
  return result;
}

Snapshot snapshot(std::uint64_t step = 1, double forward = 30) {
  Snapshot result;
  result.step = step;
  tests::settings_of(result).batch = 64;
  result.timings = {timing(Op::conv2d_forward, "conv1", forward), timing(Op::relu_forward, "relu1", 5),
                    timing(Op::conv2d_backward_weights, "conv1", 60), timing(Op::optimizer_update, "", 5)};
  return result;
}

TEST(OpFamilies, EveryOpHasOneAndEachFamilyHasAName) {
  EXPECT_EQ(family_of(Op::linear_forward), OpFamily::forward);
  EXPECT_EQ(family_of(Op::conv2d_backward_input), OpFamily::input_gradients);
  EXPECT_EQ(family_of(Op::linear_backward_weights), OpFamily::weight_gradients);
  EXPECT_EQ(family_of(Op::conv2d_backward_bias), OpFamily::elementwise);
  EXPECT_EQ(family_of(Op::upsample2d_backward), OpFamily::resampling);
  EXPECT_EQ(family_of(Op::cross_entropy_forward), OpFamily::loss);
  EXPECT_EQ(family_of(Op::gradients_norm), OpFamily::update);
  EXPECT_EQ(family_of(Op::step_record), OpFamily::update);
  EXPECT_EQ(family_of(Op::labels_gather), OpFamily::data);
  for (const ops::OpContract& contract : ops::contracts())
    EXPECT_FALSE(name_of(family_of(contract.op)).empty()) << contract.name;
}

TEST(StepLanes, TellWhatAStepTakesBeyondItsCalls) {
  Snapshot now = snapshot();
  now.images_per_second = 64 / 120e-6;
  EXPECT_NEAR(lanes_of(now).rest, 20, 1e-9);
  EXPECT_NEAR(lanes_of(now).length(), 120, 1e-9);
  now.images_per_second = 64 / 90e-6;
  EXPECT_EQ(lanes_of(now).rest, 0) << "the sum is the larger one";
  now.images_per_second = 64 / 120e-6;
  now.timings[1].microseconds = 0;
  EXPECT_EQ(lanes_of(now).rest, 0) << "a call has no time";
  now = snapshot();
  now.images_per_second = 64 / 120e-6;
  tests::settings_of(now).optimizer.accumulate = 2;
  EXPECT_EQ(lanes_of(now).rest, 0) << "a step is two of these";
}

TEST(StepLanes, FindTheCallAtATime) {
  const Snapshot now = snapshot();
  const StepLanes lanes = lanes_of(now);
  EXPECT_EQ(call_at(lanes.now, 0)->timing, &now.timings[0]);
  EXPECT_EQ(call_at(lanes.now, 30)->timing, &now.timings[1]);
  EXPECT_EQ(call_at(lanes.now, 99.9)->timing, &now.timings[3]);
  EXPECT_EQ(call_at(lanes.now, 100), nullptr);
  EXPECT_EQ(call_at(lanes.now, -1), nullptr);
  EXPECT_EQ(call_at({}, 0), nullptr);
}

TEST(StepLanes, SharesAddUpToOne) {
  const Snapshot now = snapshot();
  const FamilyShares shares = shares_of(lanes_of(now).now);
  EXPECT_DOUBLE_EQ(shares[static_cast<std::size_t>(OpFamily::weight_gradients)], 0.6);
  EXPECT_DOUBLE_EQ(std::accumulate(shares.begin(), shares.end(), 0.0), 1.0);
}

TEST(StepLanes, AreNoWholeThatHasSharesWhileACallHasNoTime) {
  Snapshot now = snapshot();
  const auto legend = legend_of(lanes_of(now));
  ASSERT_EQ(legend.size(), 4u);
  EXPECT_EQ(legend[0].family, OpFamily::forward);
  EXPECT_EQ(legend[0].share, "30.0 %");
  now.timings[2].microseconds = 0;
  const StepLanes lanes = lanes_of(now);
  ASSERT_EQ(legend_of(lanes).size(), 3u);
  for (const FamilyLegend& family : legend_of(lanes)) EXPECT_EQ(family.share, "-") << name_of(family.family);
  const std::string tip = tip_of(lanes.now[0], lanes, false, true);
  EXPECT_NE(tip.find("30.0 \u00b5s"), std::string::npos) << tip;
  EXPECT_EQ(tip.find('%'), std::string::npos) << tip;
}

TEST(TimeWindow, ZoomKeepsWhatIsUnderThePointer) {
  TimeWindow window;
  window.zoom(0.25, 0.5);
  EXPECT_DOUBLE_EQ(window.last - window.first, 0.5);
  EXPECT_DOUBLE_EQ(window.first + 0.25 * (window.last - window.first), 0.25);
  window.zoom(0.25, 100);
  EXPECT_DOUBLE_EQ(window.first, 0);
  EXPECT_DOUBLE_EQ(window.last, 1);
  for (int i = 0; i < 200; ++i) window.zoom(1.0, 0.5);
  EXPECT_GT(window.last, window.first) << "there is an end to it";
  EXPECT_DOUBLE_EQ(window.last, 1.0);
}

TEST(TimeWindow, PansNoFurtherThanTheStep) {
  TimeWindow window{0.25, 0.5};
  window.pan(-1);
  EXPECT_EQ(window.first, 0);
  EXPECT_EQ(window.last, 0.25);
  window.pan(5);
  EXPECT_EQ(window.first, 0.75);
  EXPECT_EQ(window.last, 1);
}

TEST(TimeTips, SayWhatACallIs) {
  Snapshot now = snapshot();
  now.timings[0].covers = {{Op::bias_forward, "conv1"}};
  now.timings[0].previous_variant = "loops";
  now.timings[0].previous_microseconds = 90;
  const StepLanes few = lanes_of(now);
  EXPECT_NE(tip_of(few.now[0], few, false, true).find("before: loops, 90.0 \u00b5s\nNot compared: 0 times"),
            std::string::npos)
      << "too few samples to compare";
  now.timings[0].samples = now.timings[0].previous_samples = 20;
  now.timings[0].control = {50, 50, 20};
  const StepLanes lanes = lanes_of(now);
  const std::string tip = tip_of(lanes.now[0], lanes, false, true);
  for (const char* part :
       {"conv1 conv2d.forward", "naive, ", "30.0 \u00b5s, 30.0 % of the calls", "0.07 TFLOP/s, 1.3 GB/s",
        "covers conv1 bias.forward", "before: loops, 90.0 \u00b5s (3.00\u00d7 the time of now)"}) {
    EXPECT_NE(tip.find(part), std::string::npos) << part << " in " << tip;
  }
  EXPECT_NE(tip_of(lanes.now[0], lanes, false, false).find("66.67 GFLOP/s"), std::string::npos);
  const std::string before = tip_of(lanes.before[0], lanes, true, true);
  EXPECT_NE(before.find("loops, "), std::string::npos) << before;
  EXPECT_NE(before.find("90.0 \u00b5s, 56.2 % of the calls"), std::string::npos) << before;
  EXPECT_NE(tip_of(lanes.before[1], lanes, true, true).find("never switched"), std::string::npos);
}

TEST(TimeTips, LabelsGetShorter) {
  const Snapshot now = snapshot();
  const StepLanes lanes = lanes_of(now);
  const auto labels = labels_of(lanes.now[0], false);
  EXPECT_EQ(labels[0], "conv1 conv2d.forward, naive");
  EXPECT_EQ(labels[1], "conv1 conv2d.forward");
  EXPECT_EQ(labels[2], "conv1");
  EXPECT_EQ(labels_of(lanes.now[3], false)[2], "optimizer");
}

TEST(ShareHistory, FollowsTheStepsThatAreTimed) {
  ShareHistory history;
  history.watch(snapshot(1));
  history.watch(snapshot(1));
  history.watch(snapshot(2));
  ASSERT_EQ(history.points().size(), 2u);
  Snapshot untimed = snapshot(3);
  untimed.timings[0].microseconds = 0;
  history.watch(untimed);
  EXPECT_EQ(history.points().size(), 2u) << "shares of a part are none of the whole";
  Snapshot switched = snapshot(4);
  switched.timings[0].variant = "tiled";
  history.watch(switched);
  ASSERT_EQ(history.points().size(), 3u);
  EXPECT_FALSE(history.points()[1].switched);
  EXPECT_TRUE(history.points()[2].switched);
  EXPECT_EQ(history.at(3.5)->step, 2u);
  EXPECT_EQ(history.at(0.5), nullptr);
}

TEST(ShareHistory, GoesBackWithTheTrainingAndBeginsAgainWithAReset) {
  ShareHistory history;
  for (std::uint64_t step = 1; step <= 5; ++step) history.watch(snapshot(step));
  history.watch(snapshot(3));
  EXPECT_EQ(history.points().back().step, 3u);
  EXPECT_EQ(history.points().size(), 3u);
  Snapshot reset = snapshot(7);
  reset.generation = 1;
  history.watch(reset);
  ASSERT_EQ(history.points().size(), 1u);
  EXPECT_EQ(history.points()[0].step, 7u);
}

TEST(ShareHistory, IsThinnedEvenlyAndLosesNoSwitch) {
  ShareHistory history;
  for (std::uint64_t step = 1; step <= 20000; ++step) {
    Snapshot now = snapshot(step);
    if (step >= 1000) now.timings[0].variant = "tiled";
    history.watch(now);
    ASSERT_LT(history.points().size(), ShareHistory::kMost);
  }
  const auto& points = history.points();
  EXPECT_GT(points.size(), ShareHistory::kMost / 4);
  const std::uint64_t stride = points.back().step - points[points.size() - 2].step;
  int switches = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    EXPECT_LE(points[i].step - points[i - 1].step, stride) << i;
    switches += points[i].switched ? 1 : 0;
  }
  EXPECT_EQ(switches, 1);
  EXPECT_EQ(points.front().step, 1u);
}

}  // namespace
}  // namespace warpscope::ui::time_rows_test
