#include "ui/panels/laboratory/bench_rows.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "ui/text/terms.h"

namespace warpscope::ui::bench_rows_test {
namespace {

using core::Precision;
using ops::Op;
using profiling::BenchRow;

BenchRow row(Op op, const char* layer, const char* variant, double median, int rank,
             Precision precision = Precision::fp32) {
  BenchRow made;
  made.what.op = op;
  made.what.layer = layer;
  made.precision = precision;
  made.variant = variant;
  made.samples = 30;
  made.median = median;
  made.p10 = 0.9 * median;
  made.p90 = 1.2 * median;
  made.floor = 5;
  made.flops = made.least_flops = 2e9;
  made.bytes = 1e7;
  made.rank = rank;
  return made;
}

BenchRow skipped(Op op, const char* layer, const char* variant, const char* reason) {
  BenchRow made = row(op, layer, variant, 0, 0);
  made.samples = 0;
  made.skipped = reason;
  return made;
}

TEST(BenchGroups, HoldRivalsTogetherAndPutTheTimedFirst) {
  const std::vector<BenchRow> rows{row(Op::relu_forward, "relu1", "naive", 4, 1),
                                   skipped(Op::conv2d_forward, "conv1", "mma", "not in fp32; in tf32"),
                                   row(Op::conv2d_forward, "conv1", "naive", 40, 2),
                                   row(Op::conv2d_forward, "conv2", "naive", 50, 1),
                                   row(Op::conv2d_forward, "conv1", "tiled", 10, 1)};
  const auto groups = bench_groups(rows, {});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].what.layer, "conv1");
  EXPECT_EQ(groups[1].what.layer, "conv2");
  EXPECT_EQ(groups[2].what.op, Op::relu_forward);
  ASSERT_EQ(groups[0].rows.size(), 3u);
  EXPECT_EQ(groups[0].rows[0]->variant, "naive");
  EXPECT_EQ(groups[0].rows[1]->variant, "tiled");
  EXPECT_EQ(groups[0].rows[2]->variant, "mma");
  EXPECT_EQ(groups[0].floor, 5);
}

TEST(BenchGroups, ShowOneOpOrOnePrecision) {
  const std::vector<BenchRow> rows{row(Op::relu_forward, "relu1", "naive", 4, 1),
                                   row(Op::conv2d_forward, "conv1", "naive", 40, 1),
                                   row(Op::conv2d_forward, "conv1", "naive", 30, 1, Precision::bf16)};
  EXPECT_EQ(bench_groups(rows, {Op::relu_forward, {}}).size(), 1u);
  const auto groups = bench_groups(rows, {Op::conv2d_forward, Precision::bf16});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].rows.size(), 1u);
}

TEST(BenchGroups, HaveNoFloorWhereTheirPrecisionsHaveDifferentOnes) {
  std::vector<BenchRow> rows{row(Op::conv2d_forward, "conv1", "naive", 40, 1),
                             row(Op::conv2d_forward, "conv1", "naive", 30, 1, Precision::bf16)};
  EXPECT_EQ(bench_groups(rows, {})[0].floor, 5);
  rows[1].floor = 2;
  EXPECT_EQ(bench_groups(rows, {})[0].floor, 0);
}

TEST(BenchGroups, DoNotRepeatWhereAVariantRunsByNamingWhereItDoesNot) {
  BenchRow elsewhere = skipped(Op::conv2d_forward, "conv1", "naive", "not in bf16; in fp32");
  elsewhere.precision = Precision::bf16;
  const std::vector<BenchRow> rows{row(Op::conv2d_forward, "conv1", "naive", 40, 1), elsewhere,
                                   skipped(Op::conv2d_forward, "conv1", "cudnn", "cuDNN was not found")};
  const auto all = bench_groups(rows, {});
  ASSERT_EQ(all[0].rows.size(), 2u);
  EXPECT_EQ(all[0].rows[1]->variant, "cudnn");
  EXPECT_EQ(bench_groups(rows, {{}, Precision::bf16})[0].rows.size(), 1u);
}

TEST(RankText, SaysTiesWithinAPrecision) {
  const std::vector<BenchRow> rows{row(Op::relu_forward, "relu1", "naive", 4, 1),
                                   row(Op::relu_forward, "relu1", "vectorized", 4.1, 1),
                                   row(Op::relu_forward, "relu1", "slow", 9, 3),
                                   row(Op::relu_forward, "relu1", "naive", 2, 1, Precision::bf16),
                                   skipped(Op::relu_forward, "relu1", "other", "why not")};
  const auto groups = bench_groups(rows, {});
  EXPECT_EQ(rank_text(rows[0], groups[0]), "fastest, tie");
  EXPECT_EQ(rank_text(rows[2], groups[0]), "3rd");
  EXPECT_EQ(rank_text(rows[3], groups[0]), "");  // nothing else was timed in bf16
  EXPECT_EQ(rank_text(rows[4], groups[0]), "");
}

TEST(BenchTip, HasTheNumbersOrTheReason) {
  const std::string tip = bench_tip(row(Op::conv2d_forward, "conv1", "naive", 1000, 1));
  EXPECT_NE(tip.find("1,000.0 \u00b5s median, 900.0 to 1,200.0"), std::string::npos) << tip;
  EXPECT_NE(tip.find("2.00 TFLOP/s"), std::string::npos) << tip;
  EXPECT_NE(tip.find("10.0 GB/s"), std::string::npos) << tip;
  const std::string other = bench_tip(skipped(Op::conv2d_forward, "conv1", "mma", "not in fp32"));
  EXPECT_NE(other.find("not timed: not in fp32"), std::string::npos) << other;
}

TEST(BenchTip, ExplainsOccupancyWhereItStands) {
  BenchRow made = row(Op::relu_forward, "relu1", "naive", 4, 1);
  EXPECT_EQ(bench_tip(made).find("ccupancy"), std::string::npos);
  made.resources.registers = 40;
  EXPECT_NE(bench_tip(made).find(explain("Occupancy")), std::string::npos);
}

TEST(BenchPoints, AddUpTheLayersUnlessOneOpIsChosen) {
  BenchRow moves = row(Op::maxpool2d_forward, "pool1", "naive", 3, 1);
  moves.flops = moves.least_flops = 0;
  const std::vector<BenchRow> rows{row(Op::conv2d_forward, "conv1", "naive", 40, 1),
                                   row(Op::conv2d_forward, "conv2", "naive", 60, 1), moves,
                                   skipped(Op::conv2d_forward, "conv1", "mma", "not in fp32")};
  const auto points = bench_points(rows, {});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].layers, 2);
  EXPECT_DOUBLE_EQ(points[0].intensity(), 200);
  EXPECT_DOUBLE_EQ(points[0].rate(), 4e9 / 100e-6);
  const auto each = bench_points(rows, {Op::conv2d_forward, {}});
  ASSERT_EQ(each.size(), 2u);
  EXPECT_EQ(each[1].layer, "conv2");
}

TEST(BenchPoints, OfUpsampledConvolutionsStandUnderTheRoofWithTheLeastWorkKnown) {
  BenchRow up = row(Op::conv2d_forward, "conv4", "hopper", 100, 1);
  up.least_flops = up.flops / 2.25;
  const auto points = bench_points({up, row(Op::conv2d_forward, "conv2", "hopper", 100, 1)}, {});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_DOUBLE_EQ(points[0].least_flops, 2e9 / 2.25 + 2e9);
  EXPECT_DOUBLE_EQ(points[0].intensity(), (2e9 / 2.25 + 2e9) / 2e7);
  EXPECT_DOUBLE_EQ(points[0].rate(), (2e9 / 2.25 + 2e9) / 200e-6);
  EXPECT_DOUBLE_EQ(points[0].formula_rate(), 4e9 / 200e-6);
  const std::string tip = point_tip(bench_points({up}, {Op::conv2d_forward, {}})[0], 1e13);
  EXPECT_NE(tip.find("20.0 TFLOP/s by the layers' formulas"), std::string::npos) << tip;
  EXPECT_NE(tip.find("889 MFLOP at least: 8.89 TFLOP/s"), std::string::npos) << tip;
  EXPECT_NE(tip.find("89 % of the roof above it, 10.0 TFLOP/s"), std::string::npos) << tip;
  const std::string plain = point_tip(bench_points({row(Op::relu_forward, "r", "naive", 1, 1)}, {})[0], 0);
  EXPECT_EQ(plain.find("at least"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("roof"), std::string::npos) << plain;
  EXPECT_NE(bench_tip(up).find("889 MFLOP at least"), std::string::npos) << bench_tip(up);
}

TEST(BenchPoints, AreOfKernelsOfOnesOwnToo) {
  const ops::OpShape shape;
  auto version = std::make_shared<training::KernelVersion>();
  version->number = 2;
  version->times.push_back(
      {shape,
       {"conv1", "conv2"},
       {{"tiled", 0, {10, 1, 15}}, {"user:mine", 2, {20, 2, 15}}, {"user:mine", 1, {30, 2, 15}}},
       4e6,
       3e6,
       1e6});
  training::UserKernels kernels;
  training::UserKernel& kernel = kernels.kernels.emplace_back();
  kernel.op = Op::conv2d_forward;
  kernel.variant = "user:mine";
  kernel.versions = {version};
  kernel.in_table = 2;
  EXPECT_TRUE(rows_of_own(kernels).empty()) << "it does not run";
  kernel.in_use = true;
  const std::vector<BenchRow> rows = rows_of_own(kernels);
  ASSERT_EQ(rows.size(), 2u) << "one a layer";
  EXPECT_EQ(rows[1].what.layer, "conv2");
  EXPECT_EQ(rows[0].median, 20);
  EXPECT_EQ(rows[0].flops, 4e6);
  const auto points = bench_points(rows, {});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].variant, "user:mine");
  EXPECT_EQ(points[0].microseconds, 40);
  EXPECT_EQ(points[0].intensity(), 3);
  kernel.in_table = 1;
  EXPECT_TRUE(rows_of_own(kernels).empty()) << "version 1 runs, whose times are not kept";
}

TEST(BenchPoints, LeaveOutSumsOfSingleOps) {
  BenchRow sum = row(Op::conv2d_forward, "conv1", profiling::kSingleOps, 40, 1);
  sum.sum = true;
  EXPECT_TRUE(bench_points({sum}, {}).empty());
  EXPECT_EQ(bench_summary({sum, row(Op::conv2d_forward, "conv1", "naive", 40, 1)}), "1 timed");
  EXPECT_NE(bench_tip(sum).find("added up"), std::string::npos) << bench_tip(sum);
}

TEST(BenchSummary, CountsWhatWasTimed) {
  const std::vector<BenchRow> rows{row(Op::conv2d_forward, "conv1", "naive", 40, 1),
                                   skipped(Op::conv2d_forward, "conv1", "mma", "not in fp32")};
  EXPECT_EQ(bench_summary(rows), "1 timed, 1 cannot run here");
  EXPECT_EQ(bench_ops(rows), (std::vector<Op>{Op::conv2d_forward}));
  EXPECT_EQ(bench_precisions(rows), (std::vector<Precision>{Precision::fp32}));
}

}  // namespace
}  // namespace warpscope::ui::bench_rows_test
