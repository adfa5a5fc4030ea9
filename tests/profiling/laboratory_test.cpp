// The laboratory's thread: one job at a time, published as it grows, cancelled when asked.

#include "gpu/profiling/laboratory.h"

#include <chrono>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/tiny.h"

namespace warpscope::profiling {
namespace {

using core::Precision;

/// False if it takes far too long.
bool wait_until(const std::function<bool()>& condition) {
  const auto start = std::chrono::steady_clock::now();
  while (!condition()) {
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(60)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

bool wait_for_end(const Laboratory& laboratory) {
  return wait_until([&] { return laboratory.state()->running == Job::none; });
}

BenchOptions quick() {
  BenchOptions options;
  options.samples = 3;
  options.seconds = 0.01;
  options.precisions = {Precision::fp32};
  options.only = "loops";
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
  ASSERT_TRUE(laboratory.start_bench("cpu", tests::tiny_model(), 2, quick()));
  EXPECT_EQ(laboratory.state()->running, Job::bench);
  ASSERT_TRUE(wait_for_end(laboratory));
  const auto state = laboratory.state();
  EXPECT_EQ(state->failure, "");
  EXPECT_FALSE(state->cancelled);
  EXPECT_EQ(state->bench_batch, 2);
  EXPECT_EQ(static_cast<int>(state->bench.size()), state->total);
  EXPECT_EQ(state->done, state->total);
  EXPECT_GT(state->peaks.fp32, 0);
}

TEST(Laboratory, VerifiesAndKeepsTheBench) {
  Laboratory laboratory;
  ASSERT_TRUE(laboratory.start_bench("cpu", tests::tiny_model(), 2, quick()));
  ASSERT_TRUE(wait_for_end(laboratory));
  const auto rows = laboratory.state()->bench.size();
  ASSERT_TRUE(laboratory.start_verify("cpu", short_verify()));
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_FALSE(laboratory.state()->verify.empty());
  EXPECT_EQ(laboratory.state()->bench.size(), rows);
}

TEST(Laboratory, MeasuresTheBaseline) {
  Laboratory laboratory;
  ASSERT_TRUE(laboratory.start_baseline(tests::tiny_model()));
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_EQ(laboratory.state()->failure, "");
  EXPECT_GT(laboratory.state()->baseline_images_per_second, 0);
}

TEST(Laboratory, RunsOneJobAtATimeAndCancels) {
  Laboratory laboratory;
  BenchOptions endless = quick();
  endless.samples = 1 << 30;
  endless.seconds = 1000;
  ASSERT_TRUE(laboratory.start_bench("cpu", tests::tiny_model(), 2, endless));
  EXPECT_FALSE(laboratory.start_verify("cpu", short_verify()));
  EXPECT_FALSE(laboratory.start_baseline(tests::tiny_model()));
  ASSERT_TRUE(wait_until([&] { return laboratory.state()->total > 0; }));
  laboratory.cancel();
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_TRUE(laboratory.state()->cancelled);
  EXPECT_TRUE(laboratory.start_verify("cpu", short_verify()));
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_FALSE(laboratory.state()->cancelled);
}

TEST(Laboratory, EndsWithItsOwnerWhileAJobRuns) {
  Laboratory laboratory;
  BenchOptions endless = quick();
  endless.samples = 1 << 30;
  endless.seconds = 1000;
  ASSERT_TRUE(laboratory.start_bench("cpu", tests::tiny_model(), 2, endless));
}

TEST(Laboratory, TellsWhyAJobFailed) {
  Laboratory laboratory;
  ASSERT_TRUE(laboratory.start_verify("cuda:99", short_verify()));
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_NE(laboratory.state()->failure.find("cuda:99"), std::string::npos) << laboratory.state()->failure;
}

}  // namespace
}  // namespace warpscope::profiling
