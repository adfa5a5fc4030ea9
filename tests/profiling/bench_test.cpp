// Ranks, floors, cases, selections of the fastest, and small benches on the CPU.

#include "gpu/profiling/bench.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "gpu/profiling/compare.h"
#include "gpu/profiling/samples.h"
#include "gpu/profiling/step_bench.h"
#include "tests/support/tiny.h"

namespace warpscope::profiling {
namespace {

using core::Precision;
using ops::Op;

BenchRow row(const std::string& variant, double p10, double median, double p90) {
  BenchRow made;
  made.what.op = Op::conv2d_forward;
  made.variant = variant;
  made.samples = 10;
  made.p10 = p10;
  made.median = median;
  made.p90 = p90;
  return made;
}

std::vector<int> ranks_of(std::vector<BenchRow> rows) {
  std::vector<BenchRow*> pointers;
  for (BenchRow& r : rows) pointers.push_back(&r);
  rank(pointers);
  std::vector<int> ranks;
  for (const BenchRow& r : rows) ranks.push_back(r.rank);
  return ranks;
}

TEST(Rank, FollowsTheMediansWhereTheSpreadsAreApart) {
  EXPECT_EQ(ranks_of({row("c", 29, 30, 31), row("a", 9, 10, 11), row("b", 19, 20, 21)}),
            (std::vector{3, 1, 2}));
}

TEST(Rank, IsSharedWhereTheSpreadsOverlap) {
  // b begins where a still is; c is beyond b, so it is third, not second.
  EXPECT_EQ(ranks_of({row("a", 9, 10, 12), row("b", 12, 13, 14), row("c", 15, 16, 17)}),
            (std::vector{1, 1, 3}));
}

TEST(Rank, LeavesOutWhatWasNotTimed) {
  BenchRow skipped = row("a", 0, 0, 0);
  skipped.skipped = "not in fp16; in fp32";
  EXPECT_EQ(ranks_of({skipped, row("b", 1, 2, 3)}), (std::vector{0, 1}));
}

TEST(Spread, IsTheMedianAndTheTenths) {
  const Spread spread = spread_of({5, 1, 3, 2, 4, 11, 10, 9, 8, 7, 6});
  EXPECT_EQ(spread.samples, 11);
  EXPECT_DOUBLE_EQ(spread.median, 6);
  EXPECT_DOUBLE_EQ(spread.p10, 2);
  EXPECT_DOUBLE_EQ(spread.p90, 10);
  EXPECT_EQ(spread_of({}).samples, 0);
}

TEST(CasesOf, NamesEachShapeOnceAfterItsFirstLayer) {
  const auto cases = cases_of(models::find_model("autoencoder"), 4, Precision::fp32);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(cases[i].op == cases[j].op && cases[i].shape == cases[j].shape) << i << " " << j;
    }
  }
  const auto count = [&](Op op) {
    return std::count_if(cases.begin(), cases.end(), [&](const BenchCase& c) { return c.op == op; });
  };
  EXPECT_EQ(count(Op::conv2d_forward), 5);
  EXPECT_EQ(count(Op::conv2d_backward_input), 4);
  EXPECT_EQ(count(Op::weights_cast), 0);
  const auto halves = cases_of(models::find_model("autoencoder"), 4, Precision::fp16);
  const auto has = [&](Op op) {
    return std::any_of(halves.begin(), halves.end(), [&](const BenchCase& c) { return c.op == op; });
  };
  EXPECT_TRUE(has(Op::weights_cast));
  EXPECT_TRUE(has(Op::images_widen));
  EXPECT_TRUE(has(Op::gradients_norm));
}

TEST(FastestOf, SumsOverTheCasesAndNeedsAllOfThem) {
  std::vector<BenchRow> rows{row("steady", 9, 10, 11),  row("steady", 9, 10, 11), row("uneven", 0, 1, 2),
                             row("uneven", 49, 50, 51), row("partial", 0, 1, 2),  row("partial", 0, 0, 0)};
  for (std::size_t i = 1; i < rows.size(); i += 2) rows[i].what.shape.batch = 2;
  rows[5].skipped = "no memory";
  plan::Selection otherwise;
  otherwise.variants = {{Op::conv2d_forward, "old"}, {Op::relu_forward, "kept"}};
  const plan::Selection fastest = fastest_of(rows, Precision::fp32, core::DeviceKind::cpu, otherwise);
  EXPECT_EQ(fastest.variants.at(Op::conv2d_forward), "steady");
  EXPECT_EQ(fastest.variants.at(Op::relu_forward), "kept");
  EXPECT_EQ(fastest_of(rows, Precision::bf16, core::DeviceKind::cpu, otherwise), otherwise);
}

TEST(FastestOf, CreditsAFusedVariantWithWhatItSaves) {
  if (ops::find_variant(Op::conv2d_forward, core::DeviceKind::cuda, "mma_fused") == nullptr) {
    GTEST_SKIP() << "this build has no CUDA";
  }
  const ops::OpShape shape{.batch = 2, .height = 8, .width = 8, .in_channels = 3, .out_channels = 16};
  const ops::OpShape output{.batch = 2, .height = 8, .width = 8, .in_channels = 16, .out_channels = 16};
  const auto of = [](Op op, const char* name, double median, const ops::OpShape& at) {
    BenchRow result = row(name, median - 1, median, median + 1);
    result.what.op = op;
    result.what.shape = at;
    return result;
  };
  std::vector<BenchRow> rows{
      of(Op::conv2d_forward, "cudnn", 50, shape), of(Op::conv2d_forward, "mma_fused", 60, shape),
      of(Op::bias_forward, "vectorized", 6, output), of(Op::relu_forward, "vectorized", 6, output)};
  const auto fastest = [&] { return fastest_of(rows, Precision::fp32, core::DeviceKind::cuda, {}); };
  EXPECT_EQ(fastest().variants.at(Op::conv2d_forward), "mma_fused");
  rows[1].median = 63;
  EXPECT_EQ(fastest().variants.at(Op::conv2d_forward), "cudnn");
  rows = {of(Op::conv2d_backward_weights, "mma", 60, shape),
          of(Op::conv2d_backward_weights, "cudnn", 55, shape),
          of(Op::conv2d_backward_bias, "warp_shuffle", 6, shape)};
  EXPECT_EQ(fastest().variants.at(Op::conv2d_backward_weights), "mma");
  EXPECT_EQ(fastest().variants.at(Op::conv2d_backward_bias), "fused");
}

TEST(FastestOf, TakesBlocksOnlyWhereTheyBeatTheirLayers) {
  const auto of = [](Op op, double median) {
    BenchRow result = row("loops", median, median, median);
    result.what.op = op;
    return result;
  };
  std::vector<BenchRow> rows{of(Op::block_forward, 10), of(Op::block_backward_weights, 10),
                             of(Op::block_backward_input, 10), of(Op::conv2d_forward, 20),
                             of(Op::conv2d_backward_weights, 9)};
  const auto forward = [&] {
    return fastest_of(rows, Precision::fp32, core::DeviceKind::cpu, {}).variants.at(Op::block_forward);
  };
  EXPECT_EQ(forward(), "parts");
  rows.push_back(of(Op::relu_backward, 2));
  EXPECT_EQ(forward(), "loops");
  rows.erase(rows.begin());
  rows.push_back(of(Op::relu_forward, 100));
  EXPECT_EQ(forward(), "parts") << "one of the block ops was not timed";
}

TEST(Compare, MatchesRowsAndSaysWhatIsBeyondTheSpread) {
  const std::vector before{row("a", 19, 20, 21), row("b", 9, 10, 11), row("gone", 1, 2, 3)};
  const std::vector after{row("a", 9, 10, 11), row("b", 10, 11, 12), row("new", 1, 2, 3)};
  const auto changes = compare(before, after);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].row.variant, "a");
  EXPECT_DOUBLE_EQ(changes[0].change.ratio, 2);
  EXPECT_TRUE(changes[0].change.beyond_spread);
  EXPECT_LT(changes[1].change.ratio, 1);
  EXPECT_FALSE(changes[1].change.beyond_spread);
}

TEST(Compare, MatchesWholeStepsByNamePrecisionAndBatch) {
  StepRow step;
  step.name = "default";
  step.batch = 64;
  step.p10 = 9;
  step.median = 10;
  step.p90 = 11;
  StepRow other = step;
  other.batch = 32;
  EXPECT_EQ(compare(std::vector{step}, std::vector{step, other}).size(), 1u);
}

BenchOptions quick() {
  BenchOptions options;
  options.samples = 3;
  options.seconds = 0.01;
  options.precisions = {Precision::fp32};
  return options;
}

TEST(Bench, TimesEveryVariantOfEveryOpOnTheCpu) {
  const auto cpu = core::open_device("cpu");
  Peaks peaks;
  peaks.fp32 = 1e10;
  peaks.bytes = 1e10;
  const auto cases = cases_of(tests::tiny_model(), 2, Precision::fp32);
  int sunk = 0;
  const auto rows = bench(cpu, cases, peaks, quick(), {}, [&](const std::vector<BenchRow>& group) {
    sunk += static_cast<int>(group.size());
  });
  EXPECT_EQ(static_cast<int>(rows.size()), sunk);
  for (const BenchRow& r : rows) {
    if (!r.skipped.empty()) continue;
    EXPECT_EQ(r.samples, 3) << r.variant;
    EXPECT_GT(r.median, 0);
    EXPECT_LE(r.p10, r.median);
    EXPECT_GE(r.p90, r.median);
    EXPECT_GE(r.rank, 1);
    EXPECT_GT(r.floor, 0);
  }
  const plan::Selection fastest = fastest_of(rows, Precision::fp32, core::DeviceKind::cpu,
                                             plan::default_selection(cpu->info(), Precision::fp32));
  EXPECT_TRUE(fastest.variants.contains(Op::conv2d_forward));
}

TEST(Bench, StopsBetweenSamples) {
  BenchOptions options = quick();
  options.samples = 1000;
  options.seconds = 60;
  int calls = 0;
  const auto rows = bench(core::open_device("cpu"), cases_of(tests::tiny_model(), 2, Precision::fp32), {},
                          options, [&](int, int, const std::string&) { return ++calls < 5; });
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(calls, 5);
}

TEST(StepBench, TimesTheDefaultThePresetsAndTheFastest) {
  const auto cpu = core::open_device("cpu");
  StepOptions options;
  options.precisions = {Precision::fp32};
  options.samples = 3;
  const std::vector rows{row("loops", 1, 2, 3)};
  const auto steps = bench_steps(cpu, tests::tiny_model(), 2, rows, options, {});
  ASSERT_GE(steps.size(), 3u);
  EXPECT_EQ(steps.front().name, "default");
  EXPECT_EQ(steps.back().name, "fastest here");
  EXPECT_EQ(steps.back().selection.variants.at(Op::conv2d_forward), "loops");
  for (const StepRow& step : steps) {
    EXPECT_EQ(step.skipped, "");
    EXPECT_GT(step.images_per_second, 0);
    EXPECT_NEAR(step.images_per_second, 2e6 / step.median, 1e-6 * step.images_per_second);
    EXPECT_GT(step.peak_bytes, 0u);
    EXPECT_LT(step.joules, 0);
  }
}

}  // namespace
}  // namespace warpscope::profiling
