// The two kernels behind partial_moments.h: one merges the parts of each channel by Chan's formula, in an order that
// only their number fixes, and moves the running statistics where that is covered; the other writes, as `welford` and
// `pooled` do. In 16 bits a mean in FP32 is exact enough to be taken from the values as one number. Bound by memory: x
// is read once, y written. At most 78 registers, 3 KiB of shared memory, no spills. Source: moments.cuh;
// batch_norm.cpp.

#include <cstdint>

#include "gpu/ops/batch_norm/moments.cuh"
#include "gpu/ops/batch_norm/normalize_columns.cuh"
#include "gpu/ops/batch_norm/normalize_windows.cuh"
#include "gpu/ops/batch_norm/partial_moments.h"
#include "gpu/ops/batch_norm/running.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/normalization.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::batch_norm {
namespace {

/// Mean and r of each channel as batch_norm.forward stores them.
struct Statistics {
  float* means;
  float* factors;

  __device__ float shift(int channel) const { return means[channel]; }
  __device__ float rest(int) const { return 0.0f; }
  __device__ float factor(int channel) const { return factors[channel]; }
};

/// A block: 32 channels. A warp merges every eighth part, then the first warp all.
__global__ __launch_bounds__(kColumnThreads) void batch_norm_merge_parts(PartialMoments from, int channels,
                                                                         std::int64_t positions,
                                                                         Statistics to, Running running) {
  __shared__ Moments of_warps[kColumnWarps][kWarpThreads];
  const unsigned lane = threadIdx.x % kWarpThreads;
  const unsigned warp = threadIdx.x / kWarpThreads;
  const int channel = static_cast<int>(blockIdx.x * kWarpThreads + lane);
  Moments moments{};
  if (channel < channels) {
#pragma unroll 4
    for (int row = static_cast<int>(warp); row < from.rows; row += kColumnWarps) {
      const float* part = from.parts + std::int64_t{row} * 3 * channels + channel;
      moments.merge({part[2 * channels], part[0], part[channels]});
    }
  }
  of_warps[warp][lane] = moments;
  __syncthreads();
  if (warp != 0 || channel >= channels) return;
  for (int i = 1; i < kColumnWarps; ++i) moments.merge(of_warps[i][lane]);
  to.means[channel] = moments.mean;
  const float factor = reciprocal_deviation(moments.squares / static_cast<float>(positions));
  to.factors[channel] = factor;
  running.track(channel, moments.mean, factor, positions);
}

/// Enqueues the first kernel.
Statistics merge(const PartialMoments& moments, const OpCall& call) {
  const int channels = call.shape.in_channels;
  auto* means = call.operand<float>(Name::statistics);
  const Statistics statistics{means, means + channels};
  const auto blocks = (static_cast<unsigned>(channels) + kWarpThreads - 1) / kWarpThreads;
  run_kernel(call, "moments of parts", {blocks, kColumnThreads}, batch_norm_merge_parts, moments, channels,
             sizes::pixels(call.shape), statistics, running_of(call));
  return statistics;
}

/// Calls function(T{}) with the call's type of 16 bits.
template <class Function>
void with_halves(const OpCall& call, Function function) {
  call.precision == core::Precision::fp16 ? function(__half{}) : function(__nv_bfloat16{});
}

}  // namespace

void forward_from(const PartialMoments& moments, const OpCall& call) {
  const Statistics statistics = merge(moments, call);
  with_halves(call, [&]<class T>(T) {
    if (call.covers(Op::maxpool2d_forward)) return pool_windows<T>(call, statistics);
    normalize_columns<T>(call, statistics);
  });
}

void summed_from(const PartialMoments& moments, const OpCall& call) {
  const Statistics statistics = merge(moments, call);
  with_halves(call, [&]<class T>(T) { normalize_columns<T, Sum::first>(call, statistics); });
}

}  // namespace warpscope::ops::batch_norm
