// Measured ceilings, and the floors that follow from them.

#include "gpu/profiling/peaks.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/core/phases.h"
#include "gpu/ops/chains.h"
#include "gpu/ops/cost.h"
#if WARPSCOPE_HAVE_HOPPER
#include "gpu/core/cuda.h"
#include "gpu/profiling/peak_kernels.h"
#endif

namespace warpscope::profiling::peaks_test {
namespace {

using core::Precision;
using ops::Op;

ops::Variant alone(Op op) {
  ops::Variant variant;
  variant.op = op;
  return variant;
}

/// A convolution that covers upsampling before it and a bias behind it.
ops::Variant upsampled() {
  ops::Variant variant = alone(Op::conv2d_forward);
  variant.chain = {
      {.op = Op::upsample2d_forward,
       .renames = {{ops::Name::output, ops::Name::upsampled}},
       .optional = true,
       .without = ops::Rename{ops::Name::upsampled, ops::Name::input},
       .shape =
           [](const ops::OpShape& own) {
             ops::OpShape shape = ops::input_shape(own);
             shape.height /= 2;
             shape.width /= 2;
             return shape;
           }},
      {.op = Op::conv2d_forward,
       .renames = {{ops::Name::input, ops::Name::upsampled}, {ops::Name::output, ops::Name::product}}},
      {.op = Op::bias_forward,
       .renames = {{ops::Name::input, ops::Name::product}},
       .optional = true,
       .without = ops::Rename{ops::Name::product, ops::Name::output},
       .shape = ops::result_shape}};
  return variant;
}

TEST(FloorSeconds, IsTheLargestOfProductsOtherWorkAndMemory) {
  Peaks peaks;
  peaks.fp32 = 1e12;
  peaks.bf16 = 1e14;
  peaks.bytes = 1e11;
  const ops::OpShape conv{.batch = 64,
                          .height = 16,
                          .width = 16,
                          .in_channels = 256,
                          .out_channels = 128,
                          .kernel_height = 3,
                          .kernel_width = 3};
  const ops::Variant forward = alone(Op::conv2d_forward);
  const double flops = ops::contract(Op::conv2d_forward).flops(conv);
  EXPECT_DOUBLE_EQ(floor_seconds(peaks, forward, conv, Precision::fp32), flops / 1e12);
  const double bytes = ops::minimum_bytes(forward, conv, Precision::bf16);
  EXPECT_DOUBLE_EQ(floor_seconds(peaks, forward, conv, Precision::bf16),
                   std::max(flops / 1e14, bytes / 1e11));
  // No tensor cores: FP32's ceiling. Element by element: memory, or FP32's ceiling in any precision.
  EXPECT_DOUBLE_EQ(floor_seconds(peaks, forward, conv, Precision::fp16), flops / 1e12);
  const ops::Variant relu = alone(Op::relu_forward);
  EXPECT_DOUBLE_EQ(floor_seconds(peaks, relu, conv, Precision::fp32),
                   ops::minimum_bytes(relu, conv, Precision::fp32) / 1e11);
  peaks.bytes = 1e20;
  EXPECT_DOUBLE_EQ(floor_seconds(peaks, relu, conv, Precision::bf16),
                   ops::contract(Op::relu_forward).flops(conv) / 1e12);
}

TEST(FloorSeconds, OfUpsampledConvolutionsRestsOnTheFourSmallConvolutionsTheyAre) {
  Peaks peaks;
  peaks.fp32 = 1e12;
  const ops::OpShape single{.batch = 64,
                            .height = 16,
                            .width = 16,
                            .in_channels = 128,
                            .out_channels = 256,
                            .kernel_height = 3,
                            .kernel_width = 3};
  ops::OpShape covering = single;
  covering.covered = {Op::upsample2d_forward, Op::bias_forward};
  const double pixels = 64.0 * 16 * 16;
  const ops::Variant variant = upsampled();
  EXPECT_DOUBLE_EQ(ops::formula_flops(variant, covering).products, 2 * pixels * 128 * 256 * 9);
  EXPECT_DOUBLE_EQ(ops::formula_flops(variant, covering).movement, pixels * 256) << "of the bias";
  EXPECT_DOUBLE_EQ(floor_seconds(peaks, variant, covering, Precision::fp32),
                   2 * pixels * 128 * 256 * 4 / 1e12);
  EXPECT_DOUBLE_EQ(floor_seconds(peaks, variant, single, Precision::fp32), 2 * pixels * 128 * 256 * 9 / 1e12);
  // What lies between the ops of one call is not moved.
  peaks.bytes = 1;
  const double moved = 4.0 * (pixels / 4 * 128 + 9 * 128 * 256 + 256 + pixels * 256);
  EXPECT_DOUBLE_EQ(floor_seconds(peaks, variant, covering, Precision::fp32), moved);
}

TEST(Peaks, OfTheCpuArePlausible) {
  const Peaks peaks = measure_peaks(core::open_device("cpu"));
  EXPECT_GT(peaks.fp32, 1e8);
  EXPECT_LT(peaks.fp32, 1e15);
  EXPECT_GT(peaks.bytes, 1e8);
  EXPECT_LT(peaks.bytes, 1e13);
  EXPECT_EQ(peaks.tf32, 0);
  EXPECT_EQ(peaks.flops(Precision::fp32), peaks.fp32);
  EXPECT_EQ(peaks.flops(Precision::bf16), peaks.bf16);
}

#ifdef __OPTIMIZE__
/// FLOP/s of a core that waits for each product before the next, over a tenth of a second.
double rate_of_a_chain() {
  constexpr int kLength = 4096;
  volatile float factor = 0.999F;  // keeps the loop from being computed beforehand
  const auto start = core::Clock::now();
  double done = 0;
  double taken = 0;
  while ((taken = core::seconds_since(start)) < 0.1) {
    const float by = factor;
    float value = 1;
    for (int n = 0; n < kLength; ++n) value = value * by + 0.001F;
    volatile float sink = value;
    (void)sink;
    done += 2.0 * kLength;
  }
  return done / taken;
}

/// The sum over all cores.
double rate_of_chains() {
  std::vector<double> rates(std::max(1U, std::thread::hardware_concurrency()));
  {
    std::vector<std::jthread> threads;
    for (double& rate : rates) threads.emplace_back([&rate] { rate = rate_of_a_chain(); });
  }
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

// Numbers that are not kept in vector registers are hardly faster than a chain, those that are some forty times. Other
// programs may take most of either, so some attempts are made.
TEST(Peaks, OfTheCpuAreThoseOfItsVectors) {
  const auto device = core::open_device("cpu");
  double best = 0;
  for (int attempt = 0; attempt < 20 && best < 12; ++attempt) {
    best = std::max(best, measure_peaks(device).fp32 / rate_of_chains());
  }
  EXPECT_GE(best, 12);
}
#endif

TEST(PeaksOnTheGpu, OfTensorCoresAreAboveThatOfTheCudaCores) {
  if (const std::string reason = core::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  const auto device = core::open_device("cuda:0");
  const Peaks peaks = measure_peaks(device);
  EXPECT_GT(peaks.fp32, 1e11);
  EXPECT_GT(peaks.bytes, 1e10);
  if (device->info().compute_capability < 80) GTEST_SKIP() << "no tensor cores that are measured";
  EXPECT_GT(peaks.tf32, peaks.fp32);
  EXPECT_GT(peaks.fp16, peaks.tf32);
  EXPECT_GT(peaks.bf16, peaks.tf32);
}

#if WARPSCOPE_HAVE_HOPPER
/// The best of some launches of about three milliseconds, in FLOP/s.
double rate_of(const std::shared_ptr<core::Device>& device, double (*launch)(const PeakLaunch&, Precision),
               Precision precision, int iterations) {
  const auto stream = device->make_stream();
  const auto start = device->make_event(true);
  const auto end = device->make_event(true);
  const core::Buffer sink(device, sizeof(float));
  const PeakLaunch what{core::cuda_stream(*stream), device->info().multiprocessors, iterations,
                        sink.as<float>()};
  double best = 0;
  for (int i = 0; i < 6; ++i) {
    stream->record(*start);
    const double work = launch(what, precision);
    stream->record(*end);
    end->synchronize();
    best = std::max(best, 1e6 * work / end->microseconds_since(*start));
  }
  return best;
}

TEST(PeaksOnTheGpu, WarpgroupsOnHopperMultiplyFasterThanWarpsAndNoFasterThanTheChipCan) {
  if (const std::string reason = core::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  const auto device = core::open_device("cuda:0");
  if (device->info().compute_capability != 90) GTEST_SKIP() << "needs compute capability 9.0";
  device->make_current();
  int kilohertz = 0;
  core::check_cuda(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
  // A multiprocessor's four tensor cores: 4096 FLOP a clock in 16 bits, half as many in TF32.
  const double most = 4096.0 * 1e3 * kilohertz * device->info().multiprocessors;
  for (const Precision precision : {Precision::fp16, Precision::bf16, Precision::tf32}) {
    const double warps = rate_of(device, launch_matrix_products, precision, 16384);
    const double warpgroups = rate_of(device, launch_warpgroup_products, precision, 1536);
    EXPECT_GT(warpgroups, 1.05 * warps) << core::to_string(precision);
    EXPECT_LT(warpgroups, 1.01 * (precision == Precision::tf32 ? most / 2 : most))
        << core::to_string(precision);
  }
}
#endif

}  // namespace
}  // namespace warpscope::profiling::peaks_test
