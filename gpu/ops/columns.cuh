#pragma once
// How kernels of normalizations walk a batch as a matrix of positions times channels: a block takes a group of
// channels and a share of the positions. The lanes of a warp lie along the channels, as many as 128 bytes need, V
// channels each, and the others along the positions, so that a thread keeps its channels: what belongs to these
// stays in its registers. V channels are read as one 16-byte vector, or V is 1.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "gpu/ops/block_sum.cuh"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops {

inline constexpr int kColumnWarps = 8;
inline constexpr unsigned kColumnThreads = kColumnWarps * kWarpThreads;
inline constexpr int kBlockChannels = 64;  ///< at most: 8 lanes by 8 channels; 32 lanes by one

struct Columns {
  std::int64_t positions;
  int channels;
  int lanes;          ///< of a warp that lie along the channels: a power of two
  std::int64_t span;  ///< positions of a block, where each has a span of its own (Walk)
};

struct ColumnGrid {
  Columns columns;
  dim3 blocks;  ///< x: groups of channels, y: shares of the positions
};

/// `channels` is a multiple of V.
template <int V>
ColumnGrid column_grid(std::int64_t positions, int channels, std::int64_t spans) {
  const int vectors = channels / V;
  const int widest = V == 1 ? static_cast<int>(kWarpThreads) : 8;
  int lanes = 1;
  while (lanes < widest && lanes < vectors) lanes *= 2;
  return {{positions, channels, lanes, (positions + spans - 1) / spans},
          dim3(static_cast<unsigned>((vectors + lanes - 1) / lanes), static_cast<unsigned>(spans))};
}

/// Calls f(V{}) with V::value channels that a thread takes at once.
template <class T, class F>
void with_column_width(int channels, bool aligned, F f) {
  if (aligned && channels % kWide<T> == 0) return f(std::integral_constant<int, kWide<T>>{});
  f(std::integral_constant<int, 1>{});
}

/// Spans for sums of which each leaves its own: enough blocks to fill a GPU, no more than a second pass adds
/// quickly. Only the shape fixes them.
inline std::int64_t summed_spans(std::int64_t positions, int channels) {
  constexpr std::int64_t kFewPositions = 128;
  constexpr std::int64_t kWantedBlocks = 1024;
  constexpr std::int64_t kMostSpans = 256;
  const std::int64_t groups = (std::int64_t{channels} + kWarpThreads - 1) / kWarpThreads;
  const std::int64_t wanted = std::clamp<std::int64_t>(kWantedBlocks / groups, 1, kMostSpans);
  return std::clamp<std::int64_t>(positions / kFewPositions, 1, wanted);
}

/// Spans for kernels that write an element for each they read.
inline std::int64_t written_spans(std::int64_t positions) {
  constexpr std::int64_t kFewPositions = 128;
  constexpr std::int64_t kMostSpans = 65535;  // blocks of a grid in y
  return std::clamp<std::int64_t>(positions / kFewPositions, 1, kMostSpans);
}

/// How the blocks share the positions: each a span of its own, or all of them side by side, so that at any time the
/// kernel reads one region. What it read last is then one region as well, from the end of which another kernel can
/// begin, in the other direction, while the second-level cache still has it.
enum class Walk { spans, together };

/// What a thread takes: channels [channel, channel + V), if it has any, of the positions first, first + step, ...
/// before end.
template <int V, Walk kWalk = Walk::spans>
struct ColumnWalk {
  int channel;
  bool inside;
  std::int64_t first;
  std::int64_t end;
  std::int64_t step;

  __device__ explicit ColumnWalk(const Columns& columns) {
    const auto lane = static_cast<int>(threadIdx.x % kWarpThreads);
    const auto warp = static_cast<int>(threadIdx.x / kWarpThreads);
    const int rows = static_cast<int>(kWarpThreads) / columns.lanes;
    step = std::int64_t{kColumnWarps} * rows;
    const std::int64_t begin = blockIdx.y * (kWalk == Walk::spans ? columns.span : step);
    channel = (static_cast<int>(blockIdx.x) * columns.lanes + lane % columns.lanes) * V;
    inside = channel < columns.channels;
    first = begin + warp * rows + lane / columns.lanes;
    end = columns.positions;
    if (kWalk == Walk::spans && begin + columns.span < end) end = begin + columns.span;
    if (kWalk == Walk::together) step *= gridDim.y;
  }
};

/// Adds the N sums of each channel over the threads of the block that share it and calls store(n, channel,
/// total), in an order that only the shape fixes. Every thread of the block must call it, once per kernel.
template <int N, int V, class Store>
__device__ __forceinline__ void add_columns(const Columns& columns, float (&sums)[N][V], Store store) {
  __shared__ float partial[kColumnWarps][N][kBlockChannels];
  const auto thread = static_cast<int>(threadIdx.x);
  const int lane = thread % static_cast<int>(kWarpThreads);
  for (int offset = static_cast<int>(kWarpThreads) / 2; offset >= columns.lanes; offset /= 2) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
      for (int j = 0; j < V; ++j) sums[n][j] += __shfl_xor_sync(0xffffffffu, sums[n][j], offset);
    }
  }
  if (lane < columns.lanes) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
      for (int j = 0; j < V; ++j)
        partial[thread / static_cast<int>(kWarpThreads)][n][lane * V + j] = sums[n][j];
    }
  }
  __syncthreads();
  const int channel = static_cast<int>(blockIdx.x) * columns.lanes * V + thread;
  if (thread >= columns.lanes * V || channel >= columns.channels) return;
#pragma unroll
  for (int n = 0; n < N; ++n) {
    float total = partial[0][n][thread];
    for (int warp = 1; warp < kColumnWarps; ++warp) total += partial[warp][n][thread];
    store(n, channel, total);
  }
}

}  // namespace warpscope::ops
