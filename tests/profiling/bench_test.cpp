// Ranks, floors, cases, and small benches on the CPU.

#include "gpu/profiling/bench.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "gpu/profiling/compare.h"
#include "gpu/profiling/samples.h"
#include "gpu/profiling/step_bench.h"
#include "tests/support/tiny.h"

namespace warpscope::profiling::bench_test {
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
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  const auto cases = cases_of(models::find_model("autoencoder"), 4, Precision::fp32, cpu);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(cases[i].op == cases[j].op && cases[i].shape == cases[j].shape) << i << " " << j;
    }
  }
  const auto count = [&](Op op) {
    return std::count_if(cases.begin(), cases.end(),
                         [&](const BenchCase& c) { return c.op == op && c.shape.covered.empty(); });
  };
  EXPECT_EQ(count(Op::conv2d_forward), 5);
  EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [](const BenchCase& c) {
    return c.op == Op::conv2d_forward && c.shape.covered.has(Op::bias_forward);
  })) << "and what calls cover";
  EXPECT_EQ(count(Op::conv2d_backward_input), 4);
  EXPECT_EQ(count(Op::weights_cast), 0);
  const auto halves = cases_of(models::find_model("autoencoder"), 4, Precision::fp16, cpu);
  const auto has = [&](Op op) {
    return std::any_of(halves.begin(), halves.end(), [&](const BenchCase& c) { return c.op == op; });
  };
  EXPECT_TRUE(has(Op::weights_cast));
  EXPECT_TRUE(has(Op::images_widen));
  EXPECT_TRUE(has(Op::gradients_norm));
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

TEST(Compare, MatchesWholeStepsByNamePrecisionBatchAndOptimizer) {
  StepRow step;
  step.name = "default";
  step.batch = 64;
  step.p10 = 9;
  step.median = 10;
  step.p90 = 11;
  StepRow other = step;
  other.batch = 32;
  StepRow by_sgd = step;
  by_sgd.rule = ops::UpdateRule::sgd;
  step.rule = other.rule = ops::UpdateRule::adam;
  EXPECT_EQ(compare(std::vector{step}, std::vector{step, other, by_sgd}).size(), 1u);
}

TEST(Changes, AreNoneOfTheCodeWhereThePeaksAreOthers) {
  const Peaks before{.fp32 = 100, .bytes = 50};
  EXPECT_EQ(peaks_doubt(before, {.fp32 = 95, .bytes = 54}), "");
  EXPECT_EQ(peaks_doubt(before, {.fp32 = 100, .bf16 = 10}), "") << "what one of them lacks tells nothing";
  const std::string doubt = peaks_doubt(before, {.fp32 = 80, .bytes = 35});
  EXPECT_TRUE(doubt.starts_with("the peak of memory is 0.70 times the earlier one, ")) << doubt;
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
  const auto cases = cases_of(tests::tiny_model(), 2, Precision::fp32, core::open_device("cpu")->info());
  int sunk = 0;
  const auto rows = bench(cpu, cases, peaks, quick(), {}, [&](const std::vector<BenchRow>& group) {
    sunk += static_cast<int>(group.size());
  });
  EXPECT_EQ(static_cast<int>(rows.size()), sunk);
  std::size_t timed = 0;
  for (const BenchRow& r : rows) {
    if (!r.skipped.empty()) continue;
    ++timed;
    EXPECT_EQ(r.samples, 3) << r.variant;
    EXPECT_GT(r.median, 0);
    EXPECT_LE(r.p10, r.median);
    EXPECT_GE(r.p90, r.median);
    EXPECT_GE(r.rank, 1);
    EXPECT_GT(r.floor, 0);
  }
  EXPECT_GE(timed, 2 * cases.size()) << "each has a reference and loops";
  const plan::Selection fastest = fastest_of(rows, Precision::fp32, cpu->info(), {});
  for (const auto& [op, name] : fastest.variants) {
    EXPECT_NE(name, plan::automatic_variant(op, cpu->info(), Precision::fp32)->name) << ops::to_string(op);
  }
}

TEST(Bench, StopsBetweenSamples) {
  BenchOptions options = quick();
  options.samples = 1000;
  options.seconds = 60;
  int calls = 0;
  const auto rows = bench(core::open_device("cpu"),
                          cases_of(tests::tiny_model(), 2, Precision::fp32, core::open_device("cpu")->info()),
                          {}, options, [&](int, int, const std::string&) { return ++calls < 5; });
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(calls, 5);
}

TEST(StepBench, TimesTheDefaultThePresetsAndTheFastest) {
  const auto cpu = core::open_device("cpu");
  StepOptions options;
  options.precisions = {Precision::fp32};
  options.samples = 3;
  const std::vector rows{row("loops", 1, 2, 3)};
  const auto steps = bench_steps(cpu, tests::tiny_model(), {.batch = 2}, rows, options, {});
  ASSERT_GE(steps.size(), 3u);
  EXPECT_EQ(steps.front().name, "automatic");
  EXPECT_EQ(steps.back().name, kFastestOps);
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
}  // namespace warpscope::profiling::bench_test
