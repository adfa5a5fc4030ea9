#pragma once
// Mean and r of each channel of a batch in one pass over x, 16 bytes at a time. A thread adds its positions by
// Welford's updates; lanes, warps and spans of positions are merged by Chan's formula, the spans by a second kernel.
// The order is one that only the shape fixes, so the result is the same bits every time. All is taken of x less the
// channel's first value, which is exact where the mean is many times the deviation: there FP32 would have no digits
// left for what is summed. At most 60 registers, 4.1 KiB of shared memory, no spills; workspace: about 2 KiB a channel
// at most. Source: B. Welford, "Note on a method for calculating corrected sums of squares and products" (1962);
// T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).

#include <cstddef>
#include <cstdint>

#include "gpu/ops/batch_norm/moments.cuh"
#include "gpu/ops/batch_norm/normalize_columns.cuh"
#include "gpu/ops/batch_norm/running.cuh"
#include "gpu/ops/columns.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/normalization.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::batch_norm {

/// Merges the V channels of each thread over the threads of the block that share them; thread i then has channel i
/// of the block in `moments`, if the block has so many. Every thread of the block must call it, once per kernel.
template <int V>
__device__ __forceinline__ Moments merge_columns(const Columns& columns, Moments (&mine)[V]) {
  __shared__ float counts[kColumnWarps];
  __shared__ float means[kColumnWarps][kBlockChannels];
  __shared__ float squares[kColumnWarps][kBlockChannels];
  const auto thread = static_cast<int>(threadIdx.x);
  const int lane = thread % static_cast<int>(kWarpThreads);
  const int warp = thread / static_cast<int>(kWarpThreads);
  for (int offset = static_cast<int>(kWarpThreads) / 2; offset >= columns.lanes; offset /= 2) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const Moments other{__shfl_down_sync(0xffffffffu, mine[j].count, offset),
                          __shfl_down_sync(0xffffffffu, mine[j].mean, offset),
                          __shfl_down_sync(0xffffffffu, mine[j].squares, offset)};
      mine[j].merge(other);
    }
  }
  if (lane == 0)
    counts[warp] = mine[0].count;  // the first lane has channels, and all channels as many values
  if (lane < columns.lanes) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      means[warp][lane * V + j] = mine[j].mean;
      squares[warp][lane * V + j] = mine[j].squares;
    }
  }
  __syncthreads();
  Moments all{};
  if (thread >= columns.lanes * V) return all;
  for (int i = 0; i < kColumnWarps; ++i) all.merge({counts[i], means[i][thread], squares[i][thread]});
  return all;
}

/// Leaves means, less the channel's first value, and squares of a span of positions in parts[span].
template <class T, int V>
__global__ __launch_bounds__(kColumnThreads) void batch_norm_spans_welford(Columns columns,
                                                                           const T* __restrict__ x,
                                                                           float* __restrict__ parts) {
  const ColumnWalk<V> walk(columns);
  Moments moments[V] = {};
  if (walk.inside) {
    float shift[V];
    load_floats(x + walk.channel, shift);
    float count = 0.0f;
#pragma unroll 4
    for (std::int64_t p = walk.first; p < walk.end; p += walk.step) {
      float values[V];
      load_floats(x + p * columns.channels + walk.channel, values);
      count += 1.0f;
      const float share = 1.0f / count;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float value = values[j] - shift[j];
        const float before = value - moments[j].mean;
        moments[j].mean += before * share;
        moments[j].squares += before * (value - moments[j].mean);
      }
    }
#pragma unroll
    for (int j = 0; j < V; ++j) moments[j].count = count;
  }
  const Moments all = merge_columns(columns, moments);
  const auto thread = static_cast<int>(threadIdx.x);
  const int channel = static_cast<int>(blockIdx.x) * columns.lanes * V + thread;
  if (thread >= columns.lanes * V || channel >= columns.channels) return;
  float* part = parts + std::int64_t{blockIdx.y} * 2 * columns.channels;
  part[channel] = all.mean;
  part[columns.channels + channel] = all.squares;
}

/// Where the moments of the batch go.
struct Results {
  float* means;
  float* factors;
  float* shifts;   ///< each channel's first value: x may be gone by the time it is needed
  float* rests;    ///< the means less these
  bool variances;  ///< these instead of factors
};

/// Merges the spans, a warp every eighth one, then the first warp all, and moves the running statistics.
template <class T>
__global__ __launch_bounds__(kColumnThreads) void batch_norm_merge_welford(Columns columns, int spans,
                                                                           const T* __restrict__ x,
                                                                           const float* __restrict__ parts,
                                                                           Results results, Running running) {
  __shared__ Moments of_warps[kColumnWarps][kWarpThreads];
  const unsigned lane = threadIdx.x % kWarpThreads;
  const unsigned warp = threadIdx.x / kWarpThreads;
  const int channel = static_cast<int>(blockIdx.x * kWarpThreads + lane);
  Moments moments{};
  if (channel < columns.channels) {
    for (int span = static_cast<int>(warp); span < spans; span += kColumnWarps) {
      const std::int64_t left = columns.positions - span * columns.span;
      const std::int64_t count = left < columns.span ? left : columns.span;
      const float* part = parts + std::int64_t{span} * 2 * columns.channels;
      if (count > 0) {
        moments.merge({static_cast<float>(count), part[channel], part[columns.channels + channel]});
      }
    }
  }
  of_warps[warp][lane] = moments;
  __syncthreads();
  if (warp != 0 || channel >= columns.channels) return;
  for (int i = 1; i < kColumnWarps; ++i) moments.merge(of_warps[i][lane]);
  const float shift = to_float(x[channel]);
  const float mean = shift + moments.mean;
  results.means[channel] = mean;
  const float variance = moments.squares / static_cast<float>(columns.positions);
  const float factor = results.variances ? variance : reciprocal_deviation(variance);
  results.factors[channel] = factor;
  results.shifts[channel] = shift;
  results.rests[channel] = moments.mean;
  running.track(channel, mean, factor, columns.positions);
}

/// Bytes that find_moments() needs in the workspace.
inline std::size_t welford_workspace(const OpShape& s, core::Precision) {
  const std::int64_t spans = summed_spans(sizes::pixels(s), s.in_channels);
  return static_cast<std::size_t>((spans + 1) * 2 * s.in_channels) * sizeof(float);
}

/// Enqueues the moments of the call's batch: means and r, or `variances`, go to `statistics`, and what is returned lies
/// there and in the workspace. Where batch_norm.track is covered, the running statistics move.
template <class T>
BatchMoments find_moments(const OpCall& call, float* statistics, bool variances = false) {
  const std::int64_t positions = sizes::pixels(call.shape);
  const int channels = call.shape.in_channels;
  const T* x = call.operand<const T>(Name::input);
  const std::int64_t spans = summed_spans(positions, channels);
  auto* parts = static_cast<float*>(call.workspace);
  float* shifts = parts + spans * 2 * channels;
  const Results results{statistics, statistics + channels, shifts, shifts + channels, variances};
  with_column_width<T>(channels, aligned_16(x), [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    const ColumnGrid grid = column_grid<kWidth>(positions, channels, spans);
    run_kernel(call, "moments of spans of positions", {grid.blocks, kColumnThreads},
               batch_norm_spans_welford<T, kWidth>, grid.columns, x, parts);
    const auto blocks = (static_cast<unsigned>(channels) + kWarpThreads - 1) / kWarpThreads;
    run_kernel(call, "moments of the batch", {blocks, kColumnThreads}, batch_norm_merge_welford<T>,
               grid.columns, spans, x, parts, results, running_of(call));
  });
  return {results.shifts, results.rests, results.factors};
}

}  // namespace warpscope::ops::batch_norm
