#pragma once
// Sums of rows by symbol: row v of the result is the sum of the rows of dy whose position has the symbol v. A tap
// shifts which symbol belongs to a position; each has a table of its own.
//
//   partial[span][t][v][c] = sum over the span's positions p with symbol(p, t) = v of dy[p][c]
//
// A thread keeps the sums of four channels (one, where channels are no multiple of four) of all symbols in shared
// memory: a column that no other thread touches, so there are no atomics, no conflicts of banks and no waiting, and the
// order is always the same. A block has 32 channels; the threads that share a vector of them take its positions in
// turns, and their columns are added at the end. So the tables fill the shared memory of a GPU, but few are written.
//
// Each thread reads 8 or 16 positions of dy ahead of those that it adds: 128 bytes, and up to 256. At 65 symbols a
// multiprocessor has 192 threads and 24 to 48 KB in flight; 3 TB/s are 13 bytes a clock for each, which over some 900
// clocks of latency are 12 KB. For two positions both sums are read before either is written, which halves the wait for
// shared memory; where both are the same symbol, the second sum goes on from the first. Symbols are looked up once a
// block, and lie in shared memory as bytes in the order in which their threads read them.
//
// A second kernel adds the spans. Each element has up to eight threads, with sixteen reads in flight each.
//
// Registers on sm_90: 109 in FP32, 122 in 16 bits, 72 for single channels, the sum 32; none spill.

#include <cstdint>
#include <type_traits>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/row_sums.h"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::row_sums {

/// Positions that a thread reads at once.
template <class T, int V>
inline constexpr int kDepth = V == 1 ? 8 : static_cast<int>(32 / sizeof(T));

/// V elements as they are read: whole words, each a register, where there are such.
template <class T, int V>
using Raw = std::conditional_t<V == 1, Vec<T, 1>, Vec<unsigned, V* static_cast<int>(sizeof(T)) / 4>>;

/// The symbols of the block's `count` positions from `begin` on, those of a thread's read together. Behind `end`: 0, to
/// which zeros are added.
template <int kDeep, class Symbols>
__device__ __forceinline__ void look_up(const Symbols& symbols, int tap, std::int64_t begin, std::int64_t end,
                                        int count, unsigned walkers, unsigned char* to) {
  constexpr int kAtOnce = 8;
  const auto threads = static_cast<int>(blockDim.x);
  for (int first = static_cast<int>(threadIdx.x); first < count; first += kAtOnce * threads) {
    int found[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      // Without a branch, so that all are in flight together.
      const std::int64_t position = begin + first + j * threads;
      const int symbol = symbols(position < end ? position : end - 1, tap);
      found[j] = position < end ? symbol : 0;
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const auto i = static_cast<unsigned>(first + j * threads);
      const unsigned turn = i / walkers;
      const unsigned place = (turn / kDeep * walkers + i % walkers) * kDeep + turn % kDeep;
      if (i < static_cast<unsigned>(count)) to[place] = static_cast<unsigned char>(found[j]);
    }
  }
}

/// Adds what a thread has read to its column, in the order of the positions.
template <class T, int V, int kDeep>
__device__ __forceinline__ void add_values(const Raw<T, V> (&raw)[kDeep], const unsigned char* symbols,
                                           Vec<float, V>* column, int columns) {
  using Numbers = Vec<float, V>;
  const auto words = *reinterpret_cast<const Vec<unsigned, kDeep / 4>*>(symbols);
#pragma unroll
  for (int k = 0; k < kDeep; k += 2) {
    const unsigned word = words.at[k / 4] >> (k % 4 * 8);
    const auto row = static_cast<int>(word & 255u);
    const auto next_row = static_cast<int>(word >> 8 & 255u);
    const auto& values = reinterpret_cast<const Vec<T, V>&>(raw[k]);
    const auto& next_values = reinterpret_cast<const Vec<T, V>&>(raw[k + 1]);
    Numbers sums = column[row * columns];
    Numbers next_sums = column[next_row * columns];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      sums.at[v] += to_float(values.at[v]);
      const float before = next_row == row ? sums.at[v] : next_sums.at[v];
      next_sums.at[v] = before + to_float(next_values.at[v]);
    }
    column[row * columns] = sums;
    column[next_row * columns] = next_sums;
  }
}

/// Adds the columns of each vector over its walkers.
template <int V>
__device__ __forceinline__ void write_table(const Sums& sums, const Cut& cut, const Vec<float, V>* table,
                                            int first_channel, float* __restrict__ to) {
  for (int e = static_cast<int>(threadIdx.x); e < sums.rows * cut.vectors;
       e += static_cast<int>(blockDim.x)) {
    const int row = e / cut.vectors;
    const int vector = e % cut.vectors;
    const int channel = first_channel + vector * V;
    if (channel >= sums.channels) continue;
    const Vec<float, V>* const columns = table + row * cut.columns + vector;
    Vec<float, V> total = columns[0];
    for (int walker = 1; walker < cut.walkers; ++walker) {
      const Vec<float, V> more = columns[walker * cut.vectors];
#pragma unroll
      for (int v = 0; v < V; ++v) total.at[v] += more.at[v];
    }
    *reinterpret_cast<Vec<float, V>*>(to + std::int64_t{row} * sums.channels + channel) = total;
  }
}

/// `symbols`(position, tap) is 0 to rows - 1. Grid: groups of channels, spans, taps; cut.shared bytes of shared memory.
template <class T, int V, class Symbols>
__global__ void __launch_bounds__(kMostThreads, kProcessorThreads / kMostThreads)
    sum_rows(Sums sums, Cut cut, Symbols symbols, const T* __restrict__ dy, float* __restrict__ partial) {
  extern __shared__ __align__(16) unsigned char row_sums_shared[];
  constexpr int kDeep = kDepth<T, V>;
  using Values = Raw<T, V>;
  auto* const table = reinterpret_cast<Vec<float, V>*>(row_sums_shared + kSymbolBytes);
  const auto thread = static_cast<int>(threadIdx.x);
  const auto tap = static_cast<int>(blockIdx.z);
  const int first_channel = static_cast<int>(blockIdx.x) * cut.vectors * V;
  const int channel = first_channel + thread % cut.vectors * V;
  const int walker = thread / cut.vectors;
  Vec<float, V>* const column = table + thread;
  for (int row = 0; row < sums.rows; ++row) column[row * cut.columns] = Vec<float, V>{};

  const std::int64_t begin = blockIdx.y * cut.span;
  const std::int64_t end = begin + cut.span < sums.positions ? begin + cut.span : sums.positions;
  // The thread's positions that it has not read yet, and the next of them.
  const bool inside = channel < sums.channels;
  const std::int64_t own = inside ? (end - begin - walker + cut.walkers - 1) / cut.walkers : 0;
  auto left = static_cast<int>(own);
  const std::int64_t step = std::int64_t{cut.walkers} * sums.channels;
  const T* next = dy + (begin + walker) * sums.channels + channel;
  const auto read = [&](Values(&values)[kDeep]) {
#pragma unroll
    for (int k = 0; k < kDeep; ++k, next += step) {
      values[k] = k < left ? *reinterpret_cast<const Values*>(next) : Values{};
    }
    left -= kDeep;
  };

  Values even[kDeep];
  Values odd[kDeep];
  read(even);
  const int turn = cut.walkers * kDeep;  // positions that the block reads at once
  const int most = kSymbolBytes / (2 * turn) * 2 * turn;
  for (std::int64_t chunk = begin; chunk < end; chunk += most) {
    const std::int64_t remaining = (end - chunk + 2 * turn - 1) / (2 * turn) * (2 * turn);
    const int count = remaining < most ? static_cast<int>(remaining) : most;
    __syncthreads();  // All have read the symbols before.
    look_up<kDeep>(symbols, tap, chunk, end, count, static_cast<unsigned>(cut.walkers), row_sums_shared);
    __syncthreads();
    const unsigned char* found = row_sums_shared + walker * kDeep;
    for (int first = 0; first < count; first += 2 * turn, found += 2 * turn) {
      read(odd);
      // The branch keeps the compiler from moving what is read down to where it is added.
      if (inside) add_values<T, V>(even, found, column, cut.columns);
      read(even);
      if (inside) add_values<T, V>(odd, found + turn, column, cut.columns);
    }
  }
  __syncthreads();
  write_table<V>(sums, cut, table, first_channel,
                 partial + (blockIdx.y * std::int64_t{sums.taps} + tap) * sums.rows * sums.channels);
}

/// Adds the spans, and gives each sum to store(tap, row, channel, sum). A block has kElementThreads / sharers elements
/// at a time.
template <class Store>
__global__ void __launch_bounds__(kElementThreads) add_spans(Sums sums, std::int64_t spans, unsigned sharers,
                                                             const float* __restrict__ partial, Store store) {
  __shared__ float shares[kElementThreads];
  constexpr int kAtOnce = 16;
  const auto count = static_cast<unsigned>(sums.taps * sums.rows) * static_cast<unsigned>(sums.channels);
  const unsigned elements = kElementThreads / sharers;
  const unsigned lane = threadIdx.x % elements;
  const unsigned share = threadIdx.x / elements;
  for (unsigned first = blockIdx.x * elements; first < count; first += gridDim.x * elements) {
    const unsigned e = first + lane;
    float sum = 0.0f;
    for (std::int64_t span = share; span < spans && e < count; span += kAtOnce * sharers) {
      float values[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        const std::int64_t at = span + j * sharers;
        values[j] = at < spans ? partial[at * count + e] : 0.0f;
      }
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) sum += values[j];
    }
    shares[threadIdx.x] = sum;
    __syncthreads();
    if (share == 0 && e < count) {
      for (unsigned other = 1; other < sharers; ++other) sum += shares[other * elements + lane];
      const auto row = static_cast<int>(e / static_cast<unsigned>(sums.channels));
      store(row / sums.rows, row % sums.rows, static_cast<int>(e % static_cast<unsigned>(sums.channels)),
            sum);
    }
    __syncthreads();
  }
}

/// Adds the `spans` partial sums that lie in the call's workspace.
template <class Store>
void launch_sum(const OpCall& call, const Sums& sums, std::int64_t spans, const Store& store) {
  const int sharers = sharers_of(spans);
  const std::int64_t count = std::int64_t{sums.taps} * sums.rows * sums.channels;
  run_kernel(call, "the sum", {element_blocks(count * sharers)}, add_spans<Store>, sums, spans, sharers,
             call.workspace, store);
}

template <class T, int V, class Symbols>
std::int64_t launch_rows(const OpCall& call, const Sums& sums, const Symbols& symbols) {
  const Cut cut = cut_of(sums, V);
  const dim3 grid(static_cast<unsigned>(cut.groups), static_cast<unsigned>(cut.spans),
                  static_cast<unsigned>(sums.taps));
  prefer_shared_memory(call, sum_rows<T, V, Symbols>);
  run_kernel(call, {grid, static_cast<unsigned>(cut.threads()), cut.shared, kSymbolBytes + kMostTableBytes},
             sum_rows<T, V, Symbols>, sums, cut, symbols, Name::output_gradient, call.workspace);
  return cut.spans;
}

/// Both kernels, of the call's output_gradient. Workspace: partial_elements() floats.
template <class T, class Symbols, class Store>
void launch(const OpCall& call, const Sums& sums, const Symbols& symbols, const Store& store) {
  const bool vectors = sums.channels % kVector == 0 && aligned_16(call.operand<T>(Name::output_gradient));
  const std::int64_t spans =
      vectors ? launch_rows<T, kVector>(call, sums, symbols) : launch_rows<T, 1>(call, sums, symbols);
  launch_sum(call, sums, spans, store);
}

}  // namespace warpscope::ops::row_sums
