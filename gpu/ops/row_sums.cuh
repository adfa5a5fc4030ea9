#pragma once
// Sums of rows by symbol: row v of the result is the sum of the rows of dy whose position has the symbol v. A block is
// one warp: it takes 32 channels of a span of positions and keeps the sums of all symbols in shared memory, a column a
// lane, so that no two threads add to the same number and the order is always the same. A second kernel adds the spans.
// A tap shifts which symbol belongs to a position; each has a table of its own.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::row_sums {

inline constexpr int kLanes = 32;

/// `rows` tables' rows a tap, of which row 0 need not be wanted; `positions` rows of dy with `channels` numbers.
struct Sums {
  std::int64_t positions;
  int channels;
  int rows;
  int taps;
};

/// Spans of positions: enough blocks to fill a GPU, no more than a second pass adds quickly. Only the shape fixes
/// them.
inline std::int64_t spans_of(const Sums& sums) {
  constexpr std::int64_t kFewPositions = 128;
  constexpr std::int64_t kWantedBlocks = 4096;
  constexpr std::int64_t kMostSpans = 128;
  const std::int64_t groups = (sums.channels + kLanes - 1) / kLanes * std::int64_t{sums.taps};
  const std::int64_t wanted = std::clamp<std::int64_t>(kWantedBlocks / groups, 1, kMostSpans);
  return std::clamp<std::int64_t>(sums.positions / kFewPositions, 1, wanted);
}

/// Elements of the partial sums: (spans, taps, rows, channels) in FP32.
inline std::int64_t partial_elements(const Sums& sums) {
  return spans_of(sums) * sums.taps * sums.rows * sums.channels;
}

/// `symbols`(position, tap) is 0 to rows - 1. Grid: groups of channels, spans, taps; rows * kLanes floats of shared
/// memory.
template <class T, class Symbols>
__global__ void __launch_bounds__(kLanes) sum_rows(Sums sums, std::int64_t span, Symbols symbols,
                                                   const T* __restrict__ dy, float* __restrict__ partial) {
  extern __shared__ float table[];
  constexpr int kAtOnce = 8;
  const auto lane = static_cast<int>(threadIdx.x);
  const int channel = static_cast<int>(blockIdx.x) * kLanes + lane;
  const auto tap = static_cast<int>(blockIdx.z);
  const bool inside = channel < sums.channels;
  for (int row = 0; row < sums.rows; ++row) table[row * kLanes + lane] = 0.0f;
  const std::int64_t begin = blockIdx.y * span;
  const std::int64_t end = begin + span < sums.positions ? begin + span : sums.positions;
  for (std::int64_t chunk = begin; chunk < end; chunk += kLanes) {
    // Behind the end: row 0, to which zeros are added.
    const int own = chunk + lane < end ? symbols(chunk + lane, tap) : 0;
    for (int first = 0; first < kLanes; first += kAtOnce) {
      float values[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        const std::int64_t position = chunk + first + j;
        values[j] = inside && position < end ? to_float(dy[position * sums.channels + channel]) : 0.0f;
      }
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        table[__shfl_sync(0xffffffffu, own, first + j) * kLanes + lane] += values[j];
      }
    }
  }
  if (!inside) return;
  float* to = partial + ((blockIdx.y * std::int64_t{sums.taps} + tap) * sums.rows) * sums.channels + channel;
  for (int row = 0; row < sums.rows; ++row)
    to[std::int64_t{row} * sums.channels] = table[row * kLanes + lane];
}

/// Adds the spans, and gives each sum to store(tap, row, channel, sum).
template <class Store>
__global__ void add_spans(Sums sums, std::int64_t spans, const float* __restrict__ partial, Store store) {
  const auto count = static_cast<unsigned>(sums.taps * sums.rows) * static_cast<unsigned>(sums.channels);
  for (unsigned e = first_element<unsigned>(); e < count; e += element_stride<unsigned>()) {
    float sum = partial[e];
    for (std::int64_t span = 1; span < spans; ++span) sum += partial[span * count + e];
    const unsigned row = e / static_cast<unsigned>(sums.channels);
    store(static_cast<int>(row) / sums.rows, static_cast<int>(row) % sums.rows,
          static_cast<int>(e % static_cast<unsigned>(sums.channels)), sum);
  }
}

/// Both kernels, of the call's output_gradient. Workspace: partial_elements() floats.
template <class T, class Symbols, class Store>
void launch(const OpCall& call, const Sums& sums, const Symbols& symbols, const Store& store) {
  const std::int64_t spans = spans_of(sums);
  const dim3 grid(static_cast<unsigned>((sums.channels + kLanes - 1) / kLanes), static_cast<unsigned>(spans),
                  static_cast<unsigned>(sums.taps));
  const std::size_t shared = static_cast<std::size_t>(sums.rows) * kLanes * sizeof(float);
  run_kernel(call, {grid, kLanes, shared}, sum_rows<T, Symbols>, sums, (sums.positions + spans - 1) / spans,
             symbols, Name::output_gradient, call.workspace);
  run_elements(call, std::int64_t{sums.taps} * sums.rows * sums.channels, add_spans<Store>, sums, spans,
               call.workspace, store);
}

}  // namespace warpscope::ops::row_sums
