
#include <vector>

#include <gtest/gtest.h>

#include "ui/panels/kernels/kernel_cells.h"

namespace warpscope::ui::kernel_rows_test {
namespace {

using ops::Op;

training::OpTiming timing(Op op, const char* layer, double microseconds, double previous = 0) {
  training::OpTiming result;
  result.op = op;
  result.layer = layer;
  result.variant = "naive";
  result.microseconds = microseconds;
  result.previous_microseconds = previous;
  result.samples = microseconds > 0 ? 7 : 0;
  result.flops = 2e6;
  result.bytes = 4e4;
  return result;
}

TEST(KernelRows, TheFirstOpOfALayer) {
  const std::vector<training::OpTiming> timings{
      timing(Op::batch_gather, "", 1), timing(Op::conv2d_forward, "conv1", 10),
      timing(Op::relu_forward, "relu1", 1), timing(Op::conv2d_forward, "conv2", 30),
      timing(Op::conv2d_backward_weights, "conv2", 30)};
  const auto rows = kernel_rows(timings);
  EXPECT_EQ(row_with_layer(rows, "conv2")->op, Op::conv2d_forward);
  EXPECT_EQ(row_with_layer(rows, "relu1")->op, Op::relu_forward);
  EXPECT_EQ(row_with_layer(rows, "conv3"), nullptr);
  EXPECT_EQ(row_with_layer(rows, ""), nullptr) << "ops of the whole network have no layer";
  EXPECT_FALSE(has_layer(rows[1], "relu1"));
}

TEST(KernelRows, AddsUpTheLayersOfAnOp) {
  const std::vector<training::OpTiming> timings{timing(Op::conv2d_forward, "conv1", 10, 100),
                                                timing(Op::relu_forward, "relu1", 1),
                                                timing(Op::conv2d_forward, "conv2", 30, 300)};
  const auto rows = kernel_rows(timings);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].op, Op::conv2d_forward);
  EXPECT_EQ(rows[0].layers.size(), 2u);
  EXPECT_EQ(rows[0].cost.microseconds, 40);
  EXPECT_EQ(rows[0].cost.previous_microseconds, 400);
  EXPECT_DOUBLE_EQ(rows[0].cost.teraflops(), 0.1);
  EXPECT_DOUBLE_EQ(rows[0].cost.gigabytes(), 2.0);
  EXPECT_EQ(rows[1].cost.previous_microseconds, 0);
}

TEST(KernelRows, ATimeIsUnknownUntilEveryLayerHasOne) {
  const std::vector<training::OpTiming> timings{timing(Op::conv2d_forward, "conv1", 10, 100),
                                                timing(Op::conv2d_forward, "conv2", 0, 300)};
  const auto rows = kernel_rows(timings);
  EXPECT_EQ(rows[0].cost.microseconds, 0);
  EXPECT_EQ(rows[0].cost.teraflops(), 0);
  EXPECT_EQ(rows[0].cost.gigabytes(), 0);
  EXPECT_EQ(rows[0].cost.previous_microseconds, 400);
  EXPECT_EQ(rows[0].cost.samples, 0);
}

TEST(StepCost, IsUnknownUntilEveryCallHasATime) {
  // As after an edit: one layer of an op is timed, the other has another shape since.
  std::vector<training::OpTiming> timings{timing(Op::conv2d_forward, "conv1", 200, 100),
                                          timing(Op::conv2d_forward, "conv2", 0),
                                          timing(Op::relu_forward, "relu1", 20)};
  const KernelCost part = step_cost(kernel_rows(timings));
  EXPECT_EQ(part.microseconds, 0) << "a sum of some is less than what its parts are";
  EXPECT_EQ(part.previous_microseconds, 0);
  EXPECT_EQ(part.teraflops(), 0);
  EXPECT_EQ(part.gigabytes(), 0);
  EXPECT_EQ(part.samples, 0);
  timings[1].microseconds = 30;
  const KernelCost whole = step_cost(kernel_rows(timings));
  EXPECT_EQ(whole.microseconds, 250);
  EXPECT_EQ(whole.flops, 6e6);
  EXPECT_EQ(whole.bytes, 12e4);
}

TEST(StepCost, OpsThatWereNotSwitchedCountAsTheyAre) {
  const std::vector<training::OpTiming> timings{timing(Op::conv2d_forward, "conv1", 20, 180),
                                                timing(Op::relu_forward, "relu1", 5)};
  const KernelCost step = step_cost(kernel_rows(timings));
  EXPECT_EQ(step.microseconds, 25);
  EXPECT_EQ(step.previous_microseconds, 185);
}

KernelCost sampled(double now, double before, int samples = 31, int samples_before = 31,
                   double spread = 0.2) {
  training::OpTiming op = timing(Op::relu_forward, "relu1", now, before);
  op.samples = samples;
  op.previous_samples = samples_before;
  op.spread = op.previous_spread = spread;
  op.control = {50, 50, 31};
  return cost_of(op);
}

TEST(TimeChange, IsThatOfMediansOfEnoughSamples) {
  EXPECT_EQ(change_of(sampled(25, 100)).difference, training::Difference::less);
  EXPECT_EQ(change_text(change_of(sampled(25, 100)), false), "0.25\u00d7 the time");
  EXPECT_EQ(change_text(change_of(sampled(25, 100)), true), "0.25\u00d7");
  EXPECT_EQ(change_of(sampled(25, 100)).before, 100) << "the ratio is that of the times in the row";
  EXPECT_EQ(change_of(sampled(25, 0)).tip, "") << "never switched";
  EXPECT_EQ(change_of(sampled(120, 100)).difference, training::Difference::more);
  EXPECT_EQ(change_text(change_of(sampled(120, 100)), false), "1.20\u00d7 the time");
  for (const KernelCost& few : {sampled(25, 100, 3), sampled(25, 100, 31, 3)}) {
    EXPECT_EQ(change_text(change_of(few), false), "-");
    EXPECT_NE(change_of(few).tip.find("Not compared: "), std::string::npos);
  }
  KernelCost loaded = sampled(56, 100);
  loaded.control.now = 28;
  EXPECT_EQ(change_text(change_of(loaded), false), "-");
  EXPECT_NE(change_of(loaded).tip.find("take 0.56 times as long"), std::string::npos);
}

TEST(TimeChange, WithinTheNoiseThereIsNone) {
  EXPECT_EQ(change_of(sampled(101, 100)).difference, training::Difference::noise) << "1.01 times";
  EXPECT_EQ(change_of(sampled(90, 100, 31, 31, 15)).difference, training::Difference::noise)
      << "they overlap";
  EXPECT_EQ(change_text(change_of(sampled(101, 100)), false), "1.01\u00d7 the time")
      << "told, but in no colour";
}

TEST(TimeChange, OfAStepIsWhatTheLadderSays) {
  training::LadderEntry before, now;
  before.images_per_second = 12549;
  now.images_per_second = 11294.1;  // 0.90 times
  before.timed = now.timed = 500;
  before.spread = now.spread = 100;
  before.batch = now.batch = 8;
  now.over_before = {50, 50, 31};
  // One by one the ops took 1.97 times as long: figures of another kind, which do not stand beside that ratio.
  const KernelCost step{.microseconds = 7085, .previous_microseconds = 3601};
  const TimeChange change = change_of_step({before, now}, step);
  EXPECT_EQ(change.before, 0);
  EXPECT_EQ(change.difference, training::Difference::more);
  EXPECT_EQ(change_text(change, false), "1.11\u00d7 the time");
  EXPECT_NE(change.tip.find("12,549 images/s before, 11,294 since"), std::string::npos) << change.tip;
  EXPECT_NE(change.tip.find("sampled ops, each launched by itself, add up to 7,085 \u00b5s; 3,601 before"),
            std::string::npos)
      << change.tip;
  now.batch = 16;
  EXPECT_EQ(change_text(change_of_step({before, now}, step), false), "-");
  now.batch = 8;
  now.over_before.now = 90;
  EXPECT_EQ(change_text(change_of_step({before, now}, step), false), "-");
  now.over_before.now = 50;
  now.timed = 2;
  EXPECT_EQ(change_text(change_of_step({before, now}, step), false), "-");
  EXPECT_EQ(change_text(change_of_step({before}, step), false), "-");
}

TEST(StepCost, HasNoPreviousTimeBeforeTheFirstSwitch) {
  const std::vector<training::OpTiming> timings{timing(Op::conv2d_forward, "conv1", 20)};
  EXPECT_EQ(step_cost(kernel_rows(timings)).previous_microseconds, 0);
  EXPECT_EQ(step_cost({}).microseconds, 0);
}

TEST(KernelRows, CoveredLayersAreInTheOpWhoseCallCoversThem) {
  std::vector<training::OpTiming> timings{
      timing(Op::conv2d_forward, "conv1", 10), timing(Op::bias_forward, "conv1", 0),
      timing(Op::relu_forward, "relu1", 0, 3), timing(Op::relu_forward, "relu2", 4)};
  timings[0].covers = {{Op::bias_forward, "conv1"}, {Op::relu_forward, "relu1"}};
  timings[1].covered_by = timings[2].covered_by = training::OpPlace{Op::conv2d_forward, "conv1"};
  const auto rows = kernel_rows(timings);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_FALSE(rows[0].covered_by);
  EXPECT_EQ(running_text(rows[0]), "naive, with bias, relu");
  EXPECT_EQ(rows[1].covered_by, Op::conv2d_forward);
  EXPECT_TRUE(rows[1].cost.covered);
  EXPECT_EQ(running_text(rows[1]), "in conv2d.forward");
  EXPECT_EQ(rows[2].covered_by, Op::conv2d_forward);
  EXPECT_FALSE(rows[2].cost.covered);  // one of its layers runs by itself
  EXPECT_EQ(running_text(rows[2]), "naive");
  EXPECT_EQ(rows[2].cost.microseconds, 4);
  EXPECT_EQ(rows[2].cost.flops, 2e6);
  EXPECT_TRUE(cost_of(timings[1]).covered);
}

TEST(KernelRows, NameEveryVariantThatRunsAndEveryReason) {
  std::vector<training::OpTiming> timings{timing(Op::conv2d_forward, "conv1", 10),
                                          timing(Op::conv2d_forward, "conv2", 10),
                                          timing(Op::conv2d_forward, "conv3", 10)};
  timings[1].variant = "tiled";
  timings[1].reason = "not naive: no";
  timings[2].reason = "relu3 is read by loss";
  const auto rows = kernel_rows(timings);
  EXPECT_EQ(running_text(rows[0]), "naive/tiled");
  EXPECT_EQ(reasons_text(rows[0]), "conv2: not naive: no\nconv3: relu3 is read by loss");
  timings[1].reason = timings[2].reason = "";
  EXPECT_EQ(reasons_text(kernel_rows(timings)[0]), "");
}

TEST(StepCost, IsCompleteWithoutTimesOfCoveredOps) {
  std::vector<training::OpTiming> timings{timing(Op::conv2d_forward, "conv1", 10, 20),
                                          timing(Op::bias_forward, "conv1", 0, 5)};
  EXPECT_EQ(step_cost(kernel_rows(timings)).microseconds, 0);
  timings[1].covered_by = training::OpPlace{Op::conv2d_forward, "conv1"};
  const KernelCost step = step_cost(kernel_rows(timings));
  EXPECT_EQ(step.microseconds, 10);
  EXPECT_EQ(step.previous_microseconds, 25);
  EXPECT_EQ(step.samples, 7);
}

TEST(KernelOrder, IsByLaunchOrByFallingTime) {
  const std::vector<training::OpTiming> timings{
      timing(Op::batch_gather, "", 2), timing(Op::conv2d_forward, "conv1", 20),
      timing(Op::relu_forward, "relu1", 0), timing(Op::optimizer_update, "", 4)};
  const auto rows = kernel_rows(timings);
  EXPECT_EQ(ops_by_launch(rows),
            (std::vector<Op>{Op::batch_gather, Op::conv2d_forward, Op::relu_forward, Op::optimizer_update}));
  EXPECT_EQ(ops_by_time(rows),
            (std::vector<Op>{Op::conv2d_forward, Op::optimizer_update, Op::batch_gather, Op::relu_forward}));
}

TEST(KernelColumns, NarrowPanelsShowWhatIsNeededMost) {
  const KernelColumns columns = kernel_columns("TFLOP/s");
  const auto shown = [&](float room) {
    std::string labels;
    const std::vector<bool> fit = columns_that_fit(columns, room);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (fit[i]) labels += std::string(labels.empty() ? "" : ", ") + columns[i].label;
    }
    return labels;
  };
  EXPECT_EQ(shown(720), "operation, variant, \u00b5s, share, TFLOP/s, GB/s, was, \u00b5s");
  EXPECT_EQ(shown(600), "operation, variant, \u00b5s, share, was, \u00b5s");
  EXPECT_EQ(shown(460), "operation, variant, \u00b5s, share");
  EXPECT_EQ(shown(380), "operation, variant, \u00b5s");
}

TEST(KernelRows, OnlyLayersWithAReasonAreExplained) {
  std::vector<training::OpTiming> timings{timing(Op::relu_forward, "relu1", 1)};
  EXPECT_FALSE(has_reasons(kernel_rows(timings)[0]));
  timings[0].reason = "somebody else reads it";
  EXPECT_TRUE(has_reasons(kernel_rows(timings)[0]));
  EXPECT_EQ(reasons_text(kernel_rows(timings)[0]), "relu1: somebody else reads it");
}

}  // namespace
}  // namespace warpscope::ui::kernel_rows_test
