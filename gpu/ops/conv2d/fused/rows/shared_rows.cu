// conv2d.forward, variant `shared_rows`: over `gather_rows` (rows.h) it adds that the rows lie in shared memory. A
// block puts those of its 64 filters (32 in FP32) there once, straight from the weights: no kernel makes rows before,
// and none are read from the caches again and again.
//
//   y[p][k] = bias[k] + table[b[p]][0][k] + table[b[p + 1]][1][k] + ...   in FP32, tap by tap: the bits of gather_rows
//
// A warp takes 16 positions next to each other at a time. Each of its lanes looks up the symbol of one character, a
// round ahead, and tells the warp where in the table that character's rows begin. Eight lanes share a row of 128 bytes,
// one 16-byte read each, and take four positions: a character that several of these meet, each with another tap, needs
// one address, because the rows of its taps follow each other. No barrier of the block stands in the loop.
//
// A row's chunks of 16 bytes are changed round by its symbol, so that neighbouring characters, which neighbouring lanes
// write while the table is made, meet different banks. Symbol 0 and what lies in the padding have rows of zeros.
//
// Limits: compute capability 8.0; kernels of one row and at most 17 taps, without stride and dilation; filters in
// multiples of 8, best of 64 (32 in FP32); tables of at most 98 KB, which each such GPU gives a block: 7 taps of 111
// characters. y aligned to 16 bytes, which the memory of plans is. There are as many blocks as 132 multiprocessors run
// at once, whatever the GPU has.
// Bound by instructions (17 for 8 filters and a tap, half of the arithmetic conversions), nearly as much by writing y
// and by shared memory. At most 80 registers on sm_80 and sm_90, none spill. Blocks of 256 threads; 7 taps of 70
// characters take 64 KB of shared memory and 1 KB for the warps, so three blocks run on a multiprocessor of 228 KB.
// Source: rows.h; "CUDA C++ Programming Guide", "Shared Memory".

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/fused/rows/rows.h"
#include "gpu/ops/conv2d/fused/rows/shared_rows.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/mma.cuh"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/symbols.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace fused::rows {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kMostBlocks = 3;  // of a multiprocessor
constexpr int kLanes = 8;       // of a row
constexpr int kChunkBytes = 16;
constexpr int kRowBytes = kLanes * kChunkBytes;
constexpr int kPositions = 4;  // of a lane
constexpr int kRound = 32 / kLanes * kPositions;
constexpr int kMostTaps = 32 - kRound + 1;
constexpr int kMostTableBytes = 98 * 1024;

template <class T>
struct Problem {
  const T* x;
  const T* weights;
  const T* bias;  ///< or nullptr
  T* y;
  std::int64_t lines;  ///< of text
  int width, output_width, padding;
  int rounds;  ///< of a line
  int characters, filters, taps;
  bool relu;
};

/// Where the rows of a symbol begin. Its lowest bits say how they are changed round: chunk c is at (offset ^ 16 c).
__device__ __forceinline__ unsigned offset_of(int symbol, int taps) {
  return static_cast<unsigned>(symbol * taps * kRowBytes + symbol % kLanes * kChunkBytes);
}

/// table[symbol][tap][filter], of weights (K, taps, C) from the block's first filter on.
template <class T>
__device__ __forceinline__ void fill_table(const Problem<T>& q, int first_filter, unsigned char* table) {
  constexpr int W = kWide<T>;
  using Chunk = Vec<T, W>;
  Chunk zeros;
#pragma unroll
  for (int i = 0; i < W; ++i) zeros.at[i] = from_float<T>(0.0f);
  const auto thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < q.taps * kLanes; i += kThreads) reinterpret_cast<Chunk*>(table)[i] = zeros;

  const int chunks = min(kLanes, (q.filters - first_filter) / W);
  const int weights = q.taps * q.characters;  // of a filter
  for (int e = thread; e < weights; e += kThreads) {
    const T* from = q.weights + std::int64_t{first_filter} * weights + e;
    const unsigned row = offset_of(e % q.characters + 1, q.taps);
    unsigned char* of_tap = table + e / q.characters * kRowBytes;
#pragma unroll 4
    for (int c = 0; c < chunks; ++c) {
      Chunk chunk;
#pragma unroll
      for (int i = 0; i < W; ++i, from += weights) chunk.at[i] = *from;
      *reinterpret_cast<Chunk*>(of_tap + (row ^ static_cast<unsigned>(c * kChunkBytes))) = chunk;
    }
  }
}

/// The rounds of a warp, one after the other.
template <class T>
class Rounds {
 public:
  __device__ __forceinline__ explicit Rounds(const Problem<T>& q) : q_(q) {
    const unsigned step = gridDim.y * kWarps;
    const unsigned first = blockIdx.y * kWarps + threadIdx.x / 32;
    const auto rounds = static_cast<unsigned>(q.rounds);
    line_ = first / rounds;
    round_ = static_cast<int>(first % rounds);
    step_lines_ = static_cast<int>(step / rounds);
    step_rounds_ = static_cast<int>(step % rounds);
  }
  __device__ __forceinline__ bool at_end() const { return line_ >= q_.lines; }
  __device__ __forceinline__ void advance() {
    line_ += step_lines_;
    round_ += step_rounds_;
    if (round_ < q_.rounds) return;
    round_ -= q_.rounds;
    ++line_;
  }
  __device__ __forceinline__ std::int64_t line() const { return line_; }
  /// The first position of the round in its line.
  __device__ __forceinline__ int position() const { return round_ * kRound; }
  /// What is stored of the lane's character; 0, which is none, in the padding and at the end.
  __device__ __forceinline__ T stored() const {
    const int column = position() + static_cast<int>(threadIdx.x) % 32 - q_.padding;
    const bool exists = !at_end() && static_cast<unsigned>(column) < static_cast<unsigned>(q_.width);
    return exists ? q_.x[line_ * q_.width + column] : from_float<T>(0.0f);
  }

 private:
  const Problem<T>& q_;
  std::int64_t line_;
  int round_, step_lines_, step_rounds_;
};

/// Adds the rows of all taps. `window` has where the rows of the characters begin, from that of the lane's first
/// position and first tap on. kTaps 0: any number of taps.
template <class T, int kTaps>
__device__ __forceinline__ void add_rows(float (&sums)[kPositions][kWide<T>], const unsigned* window,
                                         unsigned chunk, int taps) {
  if constexpr (kTaps == 0) {
    for (int t = 0; t < taps; ++t) {
#pragma unroll
      for (int p = 0; p < kPositions; ++p) add<T>(sums[p], (window[p + t] ^ chunk) + t * kRowBytes);
    }
  } else {
    constexpr int kCharacters = kPositions + kTaps - 1;
    unsigned rows[(kCharacters + 3) / 4][4];
#pragma unroll
    for (int i = 0; i < (kCharacters + 3) / 4; ++i)
      mma::load_chunk(rows[i], mma::shared_address(window + 4 * i));
#pragma unroll
    for (int i = 0; i < kCharacters; ++i) {
      const mma::SharedAddress of_character = rows[i / 4][i % 4] ^ chunk;
#pragma unroll
      for (int p = 0; p < kPositions; ++p) {
        if (i >= p && i - p < kTaps) add<T>(sums[p], of_character + (i - p) * kRowBytes);
      }
    }
  }
}

/// The larger one; NaN where `value` is one.
__device__ __forceinline__ float at_least(float least, float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(value), "f"(least));
  return larger;
#else
  return value <= least ? least : value;
#endif
}

/// The numbers as they are stored.
template <class T>
__device__ __forceinline__ uint4 stored_as(const float (&values)[kWide<T>]) {
  unsigned words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (std::is_same_v<T, float>) {
      words[i] = __float_as_uint(values[i]);
    } else {
      const Vec<T, 2> pair{from_float<T>(values[2 * i]), from_float<T>(values[2 * i + 1])};
      words[i] = reinterpret_cast<const unsigned&>(pair);
    }
  }
  return uint4{words[0], words[1], words[2], words[3]};
}

/// Writes a lane's sums of so many positions, with ReLU where `least` is 0.
template <class T>
__device__ __forceinline__ void write_sums(float (&sums)[kPositions][kWide<T>], int positions, float least,
                                           int filters, T* to) {
#pragma unroll
  for (int p = 0; p < kPositions; ++p, to += filters) {
#pragma unroll
    for (int i = 0; i < kWide<T>; ++i) sums[p][i] = at_least(least, sums[p][i]);
    // A plain store of 16 bytes is taken apart where registers are short; this one is not.
    if (p < positions) __stcs(reinterpret_cast<uint4*>(to), stored_as<T>(sums[p]));
  }
}

/// Grid: slices of filters, spans of rounds.
template <class T, int kTaps>
__global__ void __launch_bounds__(kThreads, kMostBlocks)
    conv2d_shared_rows(const __grid_constant__ Problem<T> q) {
  constexpr int W = kWide<T>;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ __align__(16) unsigned windows[kWarps][32];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first_filter = static_cast<int>(blockIdx.x) * kLanes * W;
  const int filter = first_filter + lane % kLanes * W;
  const int own = lane / kLanes * kPositions;  // the lane's first position of a round
  const bool exists = filter < q.filters;
  const float least = q.relu ? 0.0f : -INFINITY;
  fill_table(q, first_filter, shared);
  float first[W] = {};
#pragma unroll
  for (int i = 0; i < W; ++i) {
    if (exists && q.bias != nullptr) first[i] = to_float(q.bias[filter + i]);
  }
  __syncthreads();

  const mma::SharedAddress table = mma::shared_address(shared);
  unsigned* window = windows[threadIdx.x / 32];
  Rounds<T> rounds(q);
  for (T stored = rounds.stored(); !rounds.at_end();) {
    window[lane] = table + offset_of(symbol_of(to_float(stored), q.characters), q.taps);
    __syncwarp();
    const int position = rounds.position() + own;
    T* to = q.y + (rounds.line() * q.output_width + position) * q.filters + filter;
    rounds.advance();
    stored = rounds.stored();
    float sums[kPositions][W];
#pragma unroll
    for (int p = 0; p < kPositions; ++p) {
#pragma unroll
      for (int i = 0; i < W; ++i) sums[p][i] = first[i];
    }
    add_rows<T, kTaps>(sums, window + own, static_cast<unsigned>(lane % kLanes * kChunkBytes), q.taps);
    write_sums<T>(sums, exists ? q.output_width - position : 0, least, q.filters, to);
    __syncwarp();
  }
}

constexpr std::int64_t parts(std::int64_t all, std::int64_t each) {
  return (all + each - 1) / each;
}

std::int64_t table_bytes(const OpShape& s) {
  return std::int64_t{s.in_channels + 1} * taps_of(s) * kRowBytes;
}

/// So many blocks as run at once, but none without a round for each of its warps.
dim3 grid_of(const OpShape& s, std::int64_t slices, std::int64_t rounds) {
  constexpr std::int64_t kProcessors = kPlannedProcessors;
  constexpr std::int64_t kProcessorBytes = 228 * 1024;
  constexpr std::int64_t kFurtherBytes = 2 * 1024;  // of a block, beside its table
  const std::int64_t resident =
      std::clamp<std::int64_t>(kProcessorBytes / (table_bytes(s) + kFurtherBytes), 1, kMostBlocks);
  const std::int64_t spans =
      std::clamp<std::int64_t>(kProcessors * resident / slices, 1, parts(rounds, kWarps));
  return {static_cast<unsigned>(slices), static_cast<unsigned>(spans)};
}

template <class T, int kTaps>
void launch_taps(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t lines = s.batch * s.height;
  const auto rounds = static_cast<int>(parts(output_width(s), kRound));
  const Problem<T> problem{call.operand<const T>(Name::input),
                           call.operand<const T>(Name::weights),
                           call.covers(Op::bias_forward) ? call.operand<const T>(Name::bias) : nullptr,
                           call.operand<T>(Name::output),
                           lines,
                           s.width,
                           output_width(s),
                           padding_of(s, s.kernel_width),
                           rounds,
                           s.in_channels,
                           s.out_channels,
                           s.kernel_width,
                           call.covers(Op::relu_forward)};
  const auto bytes = static_cast<std::size_t>(table_bytes(s));
  const auto kernel = conv2d_shared_rows<T, kTaps>;
  prefer_shared_memory(call, kernel);  // for kMostBlocks
  const dim3 grid = grid_of(s, parts(s.out_channels, kLanes * kWide<T>), lines * rounds);
  run_kernel(call, {grid, kThreads, bytes, kMostTableBytes}, kernel, problem);
}

void forward_shared(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    switch (call.shape.kernel_width) {
      case 3:
        return launch_taps<T, 3>(call);
      case 5:
        return launch_taps<T, 5>(call);
      case 7:
        return launch_taps<T, 7>(call);
      default:
        return launch_taps<T, 0>(call);
    }
  });
}

std::string refuses_shared(const OpShape& s) {
  if (s.kernel_height != 1 || s.stride != 1 || s.dilation != 1) {
    return "takes kernels of one row, without stride and dilation";
  }
  if (s.kernel_width > kMostTaps) return "takes kernels of at most 17 taps";
  if (s.out_channels % 8 != 0) return "takes filters in multiples of 8";
  if (table_bytes(s) <= kMostTableBytes) return refuses(s);
  return "its table of " + std::to_string(s.in_channels) + " characters and " +
         std::to_string(s.kernel_width) + " taps takes " + std::to_string(parts(table_bytes(s), 1024)) +
         " KB of shared memory, at most 98";
}

}  // namespace
}  // namespace fused::rows

Variant shared_rows_forward() {
  using namespace fused::rows;
  return cuda_variant(
      Op::conv2d_forward, "shared_rows", forward_shared,
      "The rows of weights that characters pick lie in shared memory, made there by each block.",
      {.minimum_compute_capability = 80, .chain = forward_chain(), .refuses = refuses_shared});
}

}  // namespace warpscope::ops::conv2d
