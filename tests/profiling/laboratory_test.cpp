// The laboratory's thread: one job at a time, published as it grows, cancelled when asked.

#include "gpu/profiling/laboratory.h"

#include <gtest/gtest.h>

#include "tests/support/tiny.h"
#include "tests/support/waiting.h"

namespace warpscope::profiling {
namespace {

using core::Precision;

bool wait_for_end(const Laboratory& laboratory) {
  return tests::eventually([&] { return laboratory.state()->running == Job::none; });
}

BenchOptions quick() {
  BenchOptions options;
  options.samples = 3;
  options.seconds = 0.01;
  options.precisions = {Precision::fp32};
  options.only = "loops";
  return options;
}

plan::Selection loops() {
  plan::Selection selection;
  plan::apply(selection, "all=loops", core::open_device("cpu")->info());
  return selection;
}

/// A bench that ends only when it is cancelled.
BenchOptions endless() {
  BenchOptions options = quick();
  options.samples = 1 << 30;
  options.seconds = 1000;
  return options;
}

verify::VerifyOptions short_verify() {
  verify::VerifyOptions options;
  options.shapes = 1;
  options.ops = {ops::Op::relu_forward};
  return options;
}

TEST(Laboratory, BeginsEmpty) {
  const Laboratory laboratory;
  ASSERT_NE(laboratory.state(), nullptr);
  EXPECT_EQ(laboratory.state()->running, Job::none);
  EXPECT_TRUE(laboratory.state()->bench.empty());
}

TEST(Laboratory, BenchesAndPublishesRowsAndPeaks) {
  Laboratory laboratory;
  ASSERT_TRUE(laboratory.start_bench("cpu", tests::tiny_model(), {.batch = 2}, loops(), quick()));
  ASSERT_TRUE(wait_for_end(laboratory));
  const auto state = laboratory.state();
  EXPECT_EQ(state->failure, "");
  EXPECT_FALSE(state->cancelled);
  EXPECT_EQ(state->bench_batch, 2);
  EXPECT_EQ(state->done, state->total);
  EXPECT_GT(state->peaks.fp32, 0);
  EXPECT_FALSE(state->bench.empty());
  ASSERT_EQ(state->advice.size(), 1u);
  EXPECT_EQ(state->advice.front().present, loops());
  EXPECT_EQ(state->advice.front().failure, "");
  EXPECT_GT(state->advice.front().contest.present.samples, 0);
}

TEST(Laboratory, VerifiesAndKeepsTheBench) {
  Laboratory laboratory;
  ASSERT_TRUE(laboratory.start_bench("cpu", tests::tiny_model(), {.batch = 2}, loops(), quick()));
  ASSERT_TRUE(wait_for_end(laboratory));
  const auto rows = laboratory.state()->bench.size();
  ASSERT_TRUE(laboratory.start_verify("cpu", short_verify()));
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_FALSE(laboratory.state()->verify.empty());
  EXPECT_EQ(laboratory.state()->bench.size(), rows);
}

TEST(Laboratory, MeasuresTheBaseline) {
  Laboratory laboratory;
  ASSERT_TRUE(laboratory.start_baseline(tests::tiny_model(), {}));
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_EQ(laboratory.state()->failure, "");
  EXPECT_GT(laboratory.state()->baseline_images_per_second, 0);
}

TEST(Laboratory, RunsOneJobAtATimeAndCancels) {
  Laboratory laboratory;
  ASSERT_TRUE(laboratory.start_bench("cpu", tests::tiny_model(), {.batch = 2}, loops(), endless()));
  EXPECT_EQ(laboratory.state()->running, Job::bench);
  EXPECT_FALSE(laboratory.start_verify("cpu", short_verify()));
  EXPECT_FALSE(laboratory.start_baseline(tests::tiny_model(), {}));
  ASSERT_TRUE(tests::eventually([&] { return laboratory.state()->total > 0; }));
  laboratory.cancel();
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_TRUE(laboratory.state()->cancelled);
  EXPECT_TRUE(laboratory.start_verify("cpu", short_verify()));
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_FALSE(laboratory.state()->cancelled);
}

// A bench that its owner did not end would go on for ever, and this test with it.
TEST(Laboratory, WhatElseUsesTheDeviceDisturbsTheComparison) {
  Laboratory laboratory;
  ASSERT_TRUE(laboratory.start_bench("cpu", tests::tiny_model(), {.batch = 2}, loops(), quick()));
  laboratory.disturb();
  ASSERT_TRUE(wait_for_end(laboratory));
  ASSERT_EQ(laboratory.state()->advice.size(), 1u);
  EXPECT_EQ(laboratory.state()->advice.front().contest.outcome, Outcome::disturbed);
  EXPECT_FALSE(laboratory.state()->advice.front().faster());
}

TEST(Laboratory, EndsWithItsOwnerWhileAJobRuns) {
  Laboratory laboratory;
  ASSERT_TRUE(laboratory.start_bench("cpu", tests::tiny_model(), {.batch = 2}, loops(), endless()));
  ASSERT_TRUE(tests::eventually([&] { return laboratory.state()->total > 0; })) << "it measures";
}

TEST(Laboratory, TellsWhyAJobFailed) {
  Laboratory laboratory;
  ASSERT_TRUE(laboratory.start_verify("cuda:99", short_verify()));
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_NE(laboratory.state()->failure.find("cuda:99"), std::string::npos) << laboratory.state()->failure;
}

}  // namespace
}  // namespace warpscope::profiling
