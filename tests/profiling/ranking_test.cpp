// Which variants are best by the rows of a bench, among variants made for it.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/chains.h"
#include "gpu/profiling/bench.h"

namespace warpscope::profiling::ranking_test {
namespace {

using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpSet;
using ops::OpShape;
using ops::Variant;

const ops::Format kCodes{"codes", nullptr, nullptr, nullptr};

Variant variant(Op op, const char* name, std::vector<ops::Link> chain = {}) {
  Variant made;
  made.op = op;
  made.name = name;
  made.precisions = {Precision::fp32};
  made.chain = std::move(chain);
  return made;
}

const OpShape kShape{.batch = 2, .height = 8, .width = 8, .in_channels = 3, .out_channels = 16};

BenchRow timed(Op op, const char* name, double median, const OpSet& covered = {}, OpShape shape = kShape) {
  BenchRow row;
  row.what.op = op;
  row.what.shape = shape;
  row.what.shape.covered = covered;
  row.variant = name;
  row.samples = 10;
  row.p10 = median - 1;
  row.median = median;
  row.p90 = median + 1;
  return row;
}

plan::Selection fastest(const std::vector<Variant>& variants, const std::vector<BenchRow>& rows,
                        const plan::Selection& otherwise = {}) {
  return fastest_of(rows, Precision::fp32, {core::DeviceInfo(), variants}, otherwise);
}

std::string choice(const plan::Selection& selection, Op op) {
  const auto found = selection.variants.find(op);
  return found == selection.variants.end() ? "" : found->second;
}

TEST(FastestOf, SumsOverTheCasesAndNeedsAllOfThem) {
  const std::vector<Variant> variants{variant(Op::conv2d_forward, "steady"),
                                      variant(Op::conv2d_forward, "partial"),
                                      variant(Op::conv2d_forward, "uneven")};
  OpShape other = kShape;
  other.batch = 3;
  std::vector<BenchRow> rows{
      timed(Op::conv2d_forward, "steady", 10), timed(Op::conv2d_forward, "steady", 10, {}, other),
      timed(Op::conv2d_forward, "uneven", 1),  timed(Op::conv2d_forward, "uneven", 50, {}, other),
      timed(Op::conv2d_forward, "partial", 1), timed(Op::conv2d_forward, "partial", 1, {}, other)};
  rows[5].skipped = "no memory";
  const plan::Selection otherwise{Precision::fp32, {{Op::conv2d_forward, "old"}, {Op::relu_forward, "kept"}}};
  const plan::Selection best = fastest(variants, rows, otherwise);
  EXPECT_EQ(choice(best, Op::conv2d_forward), "steady");
  EXPECT_EQ(choice(best, Op::relu_forward), "kept") << "it was not timed";
  for (BenchRow& row : rows) row.precision = Precision::bf16;
  EXPECT_EQ(fastest(variants, rows, otherwise), otherwise);
}

TEST(FastestOf, ChoosesNothingWhereTheAutomaticVariantIsBest) {
  const std::vector<Variant> variants{variant(Op::relu_forward, "simple"), variant(Op::relu_forward, "good")};
  std::vector<BenchRow> rows{timed(Op::relu_forward, "simple", 9), timed(Op::relu_forward, "good", 5)};
  EXPECT_EQ(
      choice(fastest(variants, rows, {Precision::fp32, {{Op::relu_forward, "simple"}}}), Op::relu_forward),
      "");
  rows[1].median = 20;
  EXPECT_EQ(choice(fastest(variants, rows), Op::relu_forward), "simple");
}

TEST(FastestOf, ChoosesNothingWhereThePlannerTakesTheBestForEachCase) {
  const std::vector<Variant> variants{
      variant(Op::batch_norm_forward, "single"),
      variant(Op::batch_norm_forward, "pooled", ops::pooling_after(Op::batch_norm_forward)),
      variant(Op::maxpool2d_forward, "plain")};
  const OpSet pooling{Op::maxpool2d_forward};
  OpShape other = kShape;
  other.batch = 3;
  std::vector<BenchRow> rows{timed(Op::batch_norm_forward, "single", 10),
                             timed(Op::batch_norm_forward, "single", 10, {}, other),
                             timed(Op::batch_norm_forward, "pooled", 12, pooling),
                             timed(Op::maxpool2d_forward, "plain", 5, {}, ops::window_shape(kShape))};
  EXPECT_TRUE(fastest(variants, rows).variants.empty()) << "pooled has one case, single the other";
  rows.push_back(timed(Op::batch_norm_forward, "pooled", 12, pooling, other));
  EXPECT_TRUE(fastest(variants, rows).variants.empty()) << "pooled has both";
  rows[2].median = rows[4].median = 90;
  EXPECT_EQ(choice(fastest(variants, rows), Op::batch_norm_forward), "single");
}

TEST(FastestOf, CountsWhatACallCoversAtTheBestTimesOfTheSingleOps) {
  const std::vector<Variant> variants{
      variant(Op::conv2d_forward, "fused", ops::bias_and_relu_after(Op::conv2d_forward)),
      variant(Op::conv2d_forward, "single"),
      variant(Op::bias_forward, "slow"),
      variant(Op::bias_forward, "quick"),
      variant(Op::relu_forward, "plain"),
      variant(Op::relu_forward, "other")};
  const OpShape output = ops::result_shape(kShape);
  const OpSet both{Op::bias_forward, Op::relu_forward};
  std::vector<BenchRow> rows{
      timed(Op::conv2d_forward, "single", 50), timed(Op::conv2d_forward, "fused", 60, both),
      timed(Op::bias_forward, "slow", 40, {}, output), timed(Op::bias_forward, "quick", 6, {}, output),
      timed(Op::relu_forward, "plain", 6, {}, output)};
  plan::Selection best = fastest(variants, rows);
  EXPECT_EQ(choice(best, Op::conv2d_forward), "fused") << "60 - 6 - 6 is less than 50";
  EXPECT_EQ(choice(best, Op::relu_forward), "") << "chosen, it would not be covered";
  rows[1].median = 63;
  best = fastest(variants, rows);
  EXPECT_EQ(choice(best, Op::conv2d_forward), "") << "single is the automatic one";
  EXPECT_EQ(choice(best, Op::bias_forward), "");
  EXPECT_EQ(choice(best, Op::relu_forward), "plain")
      << "it runs by itself now, and the automatic one was not timed";
}

/// A pair that hands over codes of its own, each covering nothing, beside plain variants.
class Partners : public testing::Test {
 protected:
  Partners() {
    for (const Op op : {Op::maxpool2d_forward, Op::maxpool2d_backward}) {
      variants.push_back(variant(op, "codes"));
      variants.back().formats = {{Name::argmax, &kCodes}};
      variants.push_back(variant(op, "plain"));
    }
  }
  std::vector<Variant> variants;
};

TEST_F(Partners, AreChosenTogetherOrNotAtAll) {
  std::vector<BenchRow> rows{
      timed(Op::maxpool2d_forward, "codes", 5), timed(Op::maxpool2d_forward, "plain", 10),
      timed(Op::maxpool2d_backward, "codes", 12), timed(Op::maxpool2d_backward, "plain", 10)};
  plan::Selection best = fastest(variants, rows);
  EXPECT_EQ(choice(best, Op::maxpool2d_forward), "codes");
  EXPECT_EQ(choice(best, Op::maxpool2d_backward), "codes") << "slower, but together they take less";
  rows[2].median = 16;
  best = fastest(variants, rows);
  EXPECT_TRUE(best.variants.empty()) << plan::to_string(best);
  rows[2] = timed(Op::maxpool2d_backward, "codes", 1);
  rows[2].skipped = "no memory";
  EXPECT_TRUE(fastest(variants, rows).variants.empty()) << "one of the two was not timed";
}

TEST(SumOfSingleOps, AddsTheBestOfEachThatACallCovers) {
  const std::vector<Variant> variants{
      variant(Op::conv2d_forward, "fused", ops::bias_and_relu_after(Op::conv2d_forward))};
  const OpShape output = ops::result_shape(kShape);
  std::vector<BenchRow> rows{timed(Op::conv2d_forward, "a", 50), timed(Op::conv2d_forward, "b", 40),
                             timed(Op::bias_forward, "a", 6, {}, output)};
  const std::vector<BenchRow> group{timed(Op::conv2d_forward, "fused", 44, {Op::bias_forward})};
  const auto sum = sum_of_single_ops(rows, group, variants);
  ASSERT_TRUE(sum);
  EXPECT_TRUE(sum->sum);
  EXPECT_EQ(sum->variant, kSingleOps);
  EXPECT_EQ(sum->median, 46);
  EXPECT_EQ(sum->what.shape, group.front().what.shape);
  EXPECT_FALSE(sum_of_single_ops(rows, {timed(Op::conv2d_forward, "fused", 44)}, variants))
      << "it covers nothing";
  rows.pop_back();
  EXPECT_FALSE(sum_of_single_ops(rows, group, variants)) << "the bias was not timed";
}

}  // namespace
}  // namespace warpscope::profiling::ranking_test
