#pragma once
// What the product kernels of conv2d.backward_weights `hopper` share: the problem, the ring of stages, and the warps
// that add up dy, whose tiles are in shared memory anyway.
//
// A kernel's shape S has `stages` of `stage_bytes`, each with dy first, in slices of 64 filters of `slice_bytes`, one
// row of 128 bytes to a pixel of the patch.

#include <algorithm>
#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_weights_plan.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_weights_sum.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::hopper {

struct WeightsProblem {
  Grid grid;
  int patches;
  int split_patches;  ///< of a split, the last may have fewer
  int columns;        ///< of taps, in units of their own
  int taps;           ///< of a plane
  int filter_tiles;
  int channel_tiles;
  int filters;
  int channels;
  int line_shift;  ///< of lines: zeros before the first position
  bool bias;       ///< its gradient is wanted
  std::int64_t bias_at;
  std::int64_t split_elements;
};

/// A launch of a product kernel.
struct WeightsCall {
  WeightsPlan plan;
  WeightsProblem problem;
  CUtensorMap dy;
  CUtensorMap x;
  float* partial;
  core::Precision precision;
  const Variant* variant;
  core::Stream* stream;
};

/// The kernels of hopper_backward_weights_taps.cu. The others are where launches are chosen.
void launch_all_taps(const WeightsCall& call);

/// What a block does.
struct Unit {
  int plane;
  int filter;
  int u;  ///< column of taps, of units of all of them the first
  int channel;
  int first_patch;
  int end_patch;
};

/// The units of a split are neighbours: they read the same pixels.
template <class S>
__device__ __forceinline__ Unit unit_of(const WeightsProblem& q) {
  const int i = static_cast<int>(blockIdx.x);
  const int channel = i / q.columns % q.channel_tiles;
  const int tile = i / q.columns / q.channel_tiles;
  const int first = static_cast<int>(blockIdx.y) * q.split_patches;
  return {tile / q.filter_tiles,
          tile % q.filter_tiles * S::filters,
          i % q.columns,
          channel * S::channels,
          first,
          min(first + q.split_patches, q.patches)};
}

/// Whether the block adds up dy: in units of the first column and channels.
__device__ __forceinline__ bool adds_gradients(const WeightsProblem& q) {
  return q.bias && static_cast<int>(blockIdx.x) % (q.columns * q.channel_tiles) == 0;
}

/// The partial sums of the block's split.
__device__ __forceinline__ float* split_of(const WeightsProblem& q, float* partial) {
  return partial + static_cast<std::int64_t>(blockIdx.y) * q.split_elements;
}

/// The index of the partial sums of 64 filters and 64 channels of a tap, from these on (hopper_weights_sum.cuh).
__device__ __forceinline__ std::int64_t block_of(const WeightsProblem& q, int plane, int filter, int tap,
                                                 int channel) {
  const int line = ((plane * q.filters + filter) / kSlice) * q.taps + tap;
  return std::int64_t{line} * (q.channels / kSlice) + channel / kSlice;
}

/// Warp `part` of the kWarps that add up a slice: the sums over the split's pixels of its part of 64 filters. A lane
/// has eight of them, of every fourth pixel, of two warps of every eighth.
template <class Math, class S, int kWarps>
__device__ void add_gradients(const WeightsProblem& q, const StagePlaces<S>& at, const unsigned char* tiles,
                              float* partial, int slice, int part, int lane) {
  static_assert(kWarps == 1 || kWarps == 2);
  constexpr int kPixels = static_cast<int>(S::slice_bytes) / kRowBytes;
  constexpr int kChunks = 8 / kWarps;  // of eight filters, of a pixel, of the warp
  constexpr int kAtOnce = 32 / kChunks;
  const int chunk = part * kChunks + lane % kChunks;
  const int row = lane / kChunks;
  // Eight lanes read at once: of two warps they are four of a pixel and four of the fourth after it, whose other half
  // of the banks the swizzle takes.
  const int first = kWarps == 1 ? row : row / 2 + row % 2 * 4;
  const Unit unit = unit_of<S>(q);
  float sums[8] = {};
  Ring<S::stages> ring;
  for (int i = unit.first_patch; i < unit.end_patch; ++i) {
    wait(at.full(ring.stage), ring.parity);
    const unsigned char* tile = tiles + static_cast<unsigned>(ring.stage) * S::stage_bytes +
                                static_cast<unsigned>(slice) * S::slice_bytes;
#pragma unroll(2 * kWarps)
    for (int pixel = first; pixel < kPixels; pixel += kAtOnce) {
      const uint4 eight =
          *reinterpret_cast<const uint4*>(tile + pixel * kRowBytes + ((chunk ^ pixel) & 7) * 16);
      const unsigned words[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        sums[2 * k] += mma::widen(Math{}, static_cast<typename Math::Storage>(words[k] & 0xffff));
        sums[2 * k + 1] += mma::widen(Math{}, static_cast<typename Math::Storage>(words[k] >> 16));
      }
    }
    arrive(at.empty(ring.stage));
    ring.advance();
  }
#pragma unroll
  for (int apart = kChunks; apart < 32; apart *= 2) {
#pragma unroll
    for (float& sum : sums) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
  }
  const int filter = unit.filter + slice * kSlice + 8 * chunk;
  if (lane >= kChunks || filter >= q.filters) return;
  float* to = split_of(q, partial) + q.bias_at + unit.plane * q.filters + filter;
#pragma unroll
  for (int k = 0; k < 8; ++k) to[k] = sums[k];
}

/// The barriers of all stages, by one thread before the block's __syncthreads. One lane of each warp of the consumers
/// tells that a stage is empty, and so do all lanes of the warps that add up dy, since each has read for itself.
template <class S>
__device__ void make_barriers(const StagePlaces<S>& at, unsigned adding_warps) {
  for (int i = 0; i < S::stages; ++i) {
    make_barrier(at.full(i), 1);
    make_barrier(at.empty(i), S::consumers * 4 + adding_warps * 32);
  }
  publish_barriers();
}

template <class Kernel>
void launch_products(const WeightsCall& call, Kernel kernel, unsigned threads, unsigned shared_bytes) {
  const dim3 blocks(static_cast<unsigned>(call.plan.units), static_cast<unsigned>(call.plan.splits.count));
  run_kernel(call, {blocks, threads, shared_bytes}, kernel, call.problem, call.dy, call.x, call.partial);
}

}  // namespace warpscope::ops::conv2d::fused::hopper
