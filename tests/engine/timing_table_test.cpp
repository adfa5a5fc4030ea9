#include "gpu/engine/timing_table.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/plan_memory.h"

namespace warpscope::training::timing_table_test {
namespace {

using core::Precision;
using tests::all_of;

class Timings : public testing::Test {
 protected:
  void adopt(const plan::Selection& selection, int batch = 5) {
    const plan::Plan plan = memory.make(plan::Purpose::training, selection, batch);
    nodes = plan.nodes().size();
    table.adopt(plan, Precision::fp32);
  }
  /// The same time for every node.
  void add(double microseconds) { table.add(std::vector<double>(nodes, microseconds)); }
  OpTiming of(ops::Op op, const std::string& layer) const {
    for (const OpTiming& timing : table.timings()) {
      if (timing.op == op && timing.layer == layer) return timing;
    }
    ADD_FAILURE() << "no timing of " << ops::to_string(op) << " in " << layer;
    return {};
  }

  tests::PlanMemory memory;
  TimingTable table;
  std::size_t nodes = 0;
};

TEST_F(Timings, StartEmptyInLaunchOrder) {
  EXPECT_EQ(table.samples(), 0);
  adopt(all_of("loops"));
  const auto timings = table.timings();
  ASSERT_EQ(timings.size(), nodes);
  EXPECT_EQ(timings.front().op, ops::Op::batch_gather);
  EXPECT_EQ(timings.back().op, ops::Op::step_record);
  for (const OpTiming& timing : timings) {
    EXPECT_EQ(timing.microseconds, 0);
    EXPECT_EQ(timing.samples, 0);
    EXPECT_EQ(timing.previous_variant, "");
    EXPECT_GT(timing.bytes, 0);
  }
  EXPECT_EQ(of(ops::Op::conv2d_forward, "conv2").flops, 2.0 * 5 * 4 * 4 * 5 * 9 * 4);
}

TEST_F(Timings, AreMediansOfTheLastSamples) {
  adopt(all_of("loops"));
  for (const double time : {5.0, 1.0, 100.0}) add(time);
  EXPECT_EQ(of(ops::Op::conv2d_forward, "conv1").microseconds, 5.0);
  EXPECT_EQ(table.samples(), 3);
  add(8.0);
  EXPECT_EQ(of(ops::Op::conv2d_forward, "conv1").microseconds, 6.5) << "the mean of the two in the middle";
  for (int i = 0; i < 31; ++i) add(7.0);
  EXPECT_EQ(of(ops::Op::conv2d_forward, "conv1").microseconds, 7.0);
  EXPECT_EQ(of(ops::Op::conv2d_forward, "conv1").samples, 31) << "older ones are forgotten";
  for (int i = 0; i < 16; ++i) add(9.0);
  EXPECT_EQ(of(ops::Op::conv2d_forward, "conv1").microseconds, 9.0);
}

TEST_F(Timings, TellHowFarTheirSamplesSpread) {
  adopt(all_of("loops"));
  for (const double time : {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 80.0}) add(time);
  const OpTiming timing = of(ops::Op::conv2d_forward, "conv1");
  EXPECT_EQ(timing.spread, 3.0) << "from the third to the sixth";
  plan::Selection selection = all_of("loops");
  selection.variants[ops::Op::conv2d_forward] = "reference";
  adopt(selection);
  EXPECT_EQ(of(ops::Op::conv2d_forward, "conv1").previous_spread, 3.0);
  EXPECT_EQ(of(ops::Op::conv2d_forward, "conv1").previous_samples, 8);
}

TEST_F(Timings, SwitchedOpsRememberWhatTheyWere) {
  adopt(all_of("loops"));
  add(10.0);
  plan::Selection selection = all_of("loops");
  selection.variants[ops::Op::relu_forward] = "reference";
  adopt(selection);
  const OpTiming switched = of(ops::Op::relu_forward, "relu1");
  EXPECT_EQ(switched.microseconds, 0);
  EXPECT_EQ(switched.samples, 0);
  EXPECT_EQ(switched.variant, "reference");
  EXPECT_EQ(switched.previous_variant, "loops");
  EXPECT_EQ(switched.previous_microseconds, 10.0);
  EXPECT_EQ(switched.previous_samples, 1);
  const OpTiming kept = of(ops::Op::conv2d_forward, "conv1");
  EXPECT_EQ(kept.microseconds, 10.0);
  EXPECT_EQ(kept.previous_variant, "");
  EXPECT_EQ(table.samples(), 0);

  add(20.0);
  adopt(all_of("loops"));
  EXPECT_EQ(of(ops::Op::relu_forward, "relu1").previous_variant, "reference");
  EXPECT_EQ(of(ops::Op::relu_forward, "relu1").previous_microseconds, 20.0);
  adopt(all_of("loops"));
  EXPECT_EQ(of(ops::Op::relu_forward, "relu1").previous_variant, "reference") << "nothing was switched";
}

TEST_F(Timings, OpsThatWereNotSwitchedAreTheControlOfThoseThatWere) {
  adopt(all_of("loops"));
  for (int i = 0; i < 20; ++i) add(10.0);
  plan::Selection selection = all_of("loops");
  selection.variants[ops::Op::relu_forward] = "reference";
  adopt(selection);
  EXPECT_EQ(of(ops::Op::relu_forward, "relu1").control, Control{}) << "no step since";
  for (int i = 0; i < 12; ++i) add(15.0);
  const Control control = of(ops::Op::relu_forward, "relu1").control;
  EXPECT_EQ(control.samples, 12u) << "only steps since the switch";
  EXPECT_DOUBLE_EQ(control.now / control.before, 1.5);
  EXPECT_EQ(of(ops::Op::conv2d_forward, "conv1").control, Control{}) << "never switched";

  selection.variants[ops::Op::conv2d_forward] = "reference";
  adopt(selection);
  for (int i = 0; i < 40; ++i) add(30.0);
  const Control since = of(ops::Op::relu_forward, "relu1").control;
  EXPECT_DOUBLE_EQ(since.now / since.before, 3) << "since the switch of its own";
  EXPECT_LT(since.before, control.before) << "conv2d.forward is none of them any more";
  const Control later = of(ops::Op::conv2d_forward, "conv1").control;
  EXPECT_DOUBLE_EQ(later.now / later.before, 2);
}

TEST_F(Timings, WhatWasCoveredRemembersWhoseCallItWasIn) {
  adopt({});
  ASSERT_TRUE(of(ops::Op::relu_forward, "relu1").covered_by);
  adopt(all_of("loops"));
  EXPECT_EQ(of(ops::Op::relu_forward, "relu1").previous_variant, "in conv2d.forward");
}

TEST_F(Timings, AnotherBatchStartsAfresh) {
  adopt(all_of("loops"));
  add(10.0);
  adopt(all_of("loops"), 3);
  const OpTiming timing = of(ops::Op::conv2d_forward, "conv1");
  EXPECT_EQ(timing.microseconds, 0);
  EXPECT_EQ(timing.previous_variant, "");
  EXPECT_EQ(timing.shape.batch, 3);
}

}  // namespace
}  // namespace warpscope::training::timing_table_test
