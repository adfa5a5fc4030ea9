// conv2d.backward_weights, variant `mma_rows`: over `scatter_rows` (rows.h) it adds tensor cores, dy read once for
// up to 512 rows of the result instead of once a tap, and the gradient of the bias as one more row.
//
//   part[row][k] = sum over the span's positions p of one[row][p] * dy[p][k]
//   one[(t, c)][p] = b[p + t] is c + 1 ? 1 : 0; the last row is 1 everywhere, its sums are the bias gradient
//
// dy comes to shared memory by asynchronous copies, 64 positions and 64 filters a stage; its fragments are
// transposed as they are loaded. `one` is never stored: beside a stage lie, for each tap, the symbols of its
// positions as numbers of 16 bits, in an order in which a lane reads those of two products at once; comparing them
// with the symbol of its row gives 1 or 0, two elements an instruction. Products with 1 and 0 are exact, sums FP32.
// Symbols are looked up one stage ahead.
//
// The rows (t, c) of all taps follow each other without gaps: a warp has up to four tiles of 16, a block eight
// warps, and more rows are more blocks that read dy again. Positions are split into spans, for 132 multiprocessors,
// whatever the GPU has; a second kernel adds their parts in a fixed order, so results are deterministic.
//
// What is not finite in dy makes its filter's gradients NaN at all characters, not only at its own, because 0 times
// it is NaN: as in the product with the one-hot characters, whose contract this is. `scatter_rows` keeps to its own
// character.
//
// Limits: compute capability 8.0; FP16 and BF16; filters in multiples of 8, best of 64; at most 31 taps; dy aligned
// to 16 bytes, which the memory of plans is. The workspace has a copy of the gradients for each span, for all filters
// and rows together at most 17 MB, or one copy if that is more. Bound by the tensor cores where there are many rows, by
// reading dy where there are few.
// Registers on sm_90 with 4, 3, 2 and 1 tiles a warp: 255, 238, 186 and 128, the sum 32, none spill; 40 KB of shared
// memory. Blocks of 256 threads, one a multiprocessor, two with 1 tile.
// Source: NVIDIA, "Parallel Thread Execution ISA", "Matrix Fragments for mma.m16n8k16"; "CUTLASS documentation",
// "Efficient GEMM in CUDA", for the split; the operand made by comparing is ours.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/fused/rows/rows.h"
#include "gpu/ops/conv2d/fused/rows/rows_gradients.cuh"
#include "gpu/ops/conv2d/fused/rows/rows_text.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/mma.cuh"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/row_sums.cuh"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace fused::rows {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kMostTiles = 4;  // of a warp
constexpr int kTileRows = 16;
constexpr int kSlice = 64;  // filters of a block
constexpr int kFragments = kSlice / 8;
constexpr int kPositions = 64;  // of a stage
constexpr int kStages = 4;
constexpr unsigned kLineBytes = 2 * kSlice;
constexpr unsigned kStageBytes = kPositions * kLineBytes;
constexpr int kMostTaps = 31;
constexpr unsigned kTapBytes = 2 * kPositions;                   // the symbols of one tap
constexpr unsigned kSymbolsBytes = (kMostTaps + 1) * kTapBytes;  // before the taps a line of ones
constexpr unsigned kSharedBytes = kStages * kStageBytes + 2 * kSymbolsBytes;

/// The same number twice.
template <class T>
__device__ __forceinline__ unsigned twice(float value) {
  return mma::narrow_pair(typename Half<T>::Math{}, value, value);
}

template <class T>
struct Problem {
  Text<T> text;
  std::int64_t positions;
  std::int64_t span;  ///< positions of a block, a multiple of those of a stage
  int filters;
  int taps;
  int rows;  ///< (taps, C), and that of the bias
};

/// Makes the symbols of a block's stages. A thread has the same position of each stage and every fourth tap of
/// those that the block's rows have. The first two are fetched long before they are stored, others when they are.
template <class T>
class SymbolMaker {
 public:
  static constexpr int kAhead = 2;

  __device__ __forceinline__ SymbolMaker(const Problem<T>& q, int first_row, int block_rows, std::int64_t end,
                                         T* symbols)
      : q_(q),
        first_tap_(first_row / q.text.characters),
        end_tap_(min(q.taps, (first_row + block_rows - 1) / q.text.characters + 1)),
        own_tap_(first_tap_ + static_cast<int>(threadIdx.x) / kPositions),
        own_(static_cast<int>(threadIdx.x) % kPositions),
        end_(end),
        symbols_(symbols) {}

  /// The line of `tap` among those of a stage.
  __device__ __forceinline__ int line(int tap) const { return 1 + tap - first_tap_; }

  /// The line of ones, of both buffers.
  __device__ __forceinline__ void store_ones() const {
    const int i = static_cast<int>(threadIdx.x);
    if (i >= 2 * kPositions) return;
    symbols_[i / kPositions * kBuffer + i % kPositions] = from_float<T>(1.0f);
  }
  __device__ __forceinline__ void fetch(T (&stored)[kAhead], std::int64_t stage) const {
    const auto at = q_.text.pixel(stage + own_);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) stored[i] = stored_at(at, stage, own_tap_ + i * kStep);
  }
  __device__ __forceinline__ void store(const T (&stored)[kAhead], std::int64_t stage, int buffer) const {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) put(own_tap_ + i * kStep, buffer, stored[i]);
    if (own_tap_ + kAhead * kStep >= end_tap_) return;
    const auto at = q_.text.pixel(stage + own_);
    for (int tap = own_tap_ + kAhead * kStep; tap < end_tap_; tap += kStep) {
      put(tap, buffer, stored_at(at, stage, tap));
    }
  }

 private:
  static constexpr int kStep = kThreads / kPositions;
  static constexpr int kBuffer = kSymbolsBytes / 2;

  __device__ __forceinline__ T stored_at(const typename Text<T>::Pixel& at, std::int64_t stage,
                                         int tap) const {
    const bool exists = stage + own_ < end_ && tap < end_tap_;
    const int width = q_.text.kernel_width;
    return exists ? q_.text.stored(at, tap / width, tap % width) : from_float<T>(0.0f);
  }
  /// A lane's 8 numbers lie together: positions 2m, 2m + 1, 2m + 8 and 2m + 9 of two products of 16, for m = lane % 4.
  __device__ __forceinline__ void put(int tap, int buffer, T stored) const {
    if (tap >= end_tap_) return;
    const int place = own_ / 32 * 32 + own_ % 8 / 2 * 8 + own_ % 32 / 16 * 4 + own_ % 16 / 8 * 2 + own_ % 2;
    symbols_[buffer * kBuffer + line(tap) * kPositions + place] =
        from_float<T>(static_cast<float>(symbol_of(to_float(stored), q_.text.characters)));
  }

  const Problem<T>& q_;
  int first_tap_, end_tap_, own_tap_, own_;
  std::int64_t end_;
  T* symbols_;
};

/// Copies stages of dy: a line a position, of eight chunks of 16 bytes, changed round so that a lane's eight lines of a
/// fragment meet all banks.
template <class T>
struct GradientCopier {
  const T* dy;
  int filters;
  int filter;  ///< the thread's first; its chunk of each line
  std::int64_t end;

  __device__ __forceinline__ void copy(std::int64_t stage, mma::SharedAddress to) const {
    const auto thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int line = thread / 8; line < kPositions; line += kThreads / 8) {
      const bool exists = stage + line < end && filter < filters;
      const T* from = exists ? dy + (stage + line) * filters + filter : dy;
      mma::copy_async(to + static_cast<unsigned>(line) * kLineBytes + (thread ^ line) % 8 * 16, from, exists);
    }
  }
};

/// A lane's rows of the result: those of a product's fragments, two a tile.
template <class T, int kTiles>
struct LaneRows {
  unsigned symbol[kTiles][2];        ///< twice
  mma::SharedAddress at[kTiles][2];  ///< the lane's numbers in the line of the row's tap

  __device__ __forceinline__ LaneRows(const Problem<T>& q, const SymbolMaker<T>& maker, int first, int lane) {
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = first + i * kTileRows + h * 8 + lane / 4;
        const bool of_tap = row < q.rows - 1;
        const int line = of_tap ? maker.line(row / q.text.characters) : 0;
        const float value = of_tap              ? static_cast<float>(row % q.text.characters + 1)
                            : row == q.rows - 1 ? 1.0f
                                                : kNoSymbol;
        symbol[i][h] = twice<T>(value);
        at[i][h] = static_cast<unsigned>(line) * kTapBytes + static_cast<unsigned>(lane) % 4 * 16;
      }
    }
  }
};

template <class T, int kTiles>
__device__ __forceinline__ void multiply_stage(float (&sums)[kTiles][kFragments][4],
                                               const LaneRows<T, kTiles>& rows, mma::SharedAddress symbols,
                                               mma::SharedAddress gradients, int lane) {
  using Math = typename Half<T>::Math;
  // Four matrices: positions 0 to 7 and 8 to 15 of a chunk of filters, and of the next.
  gradients += static_cast<unsigned>(lane) % 16 * kLineBytes;
#pragma unroll
  for (int two = 0; two < kPositions / 32; ++two) {
    unsigned a[2][kTiles][4];
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        unsigned found[4];
        mma::load_chunk(found, symbols + rows.at[i][h] + two * 64);
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          a[w / 2][i][w % 2 * 2 + h] = ones_where_equal<T>(found[w], rows.symbol[i][h]);
        }
      }
    }
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      const mma::SharedAddress lines = gradients + (2 * two + step) * 16 * kLineBytes;
#pragma unroll
      for (int j = 0; j < kFragments; j += 2) {
        unsigned b[4];
        mma::load_matrices_transposed(b, lines + static_cast<unsigned>((j + lane / 16) ^ (lane % 8)) * 16);
#pragma unroll
        for (int i = 0; i < kTiles; ++i) {
          mma::multiply_add(Math{}, sums[i][j], a[step][i], {b[0], b[1]});
          mma::multiply_add(Math{}, sums[i][j + 1], a[step][i], {b[2], b[3]});
        }
      }
    }
  }
}

template <class T, int kTiles>
__device__ __forceinline__ void write_sums(const float (&sums)[kTiles][kFragments][4], const Problem<T>& q,
                                           int first_row, int first_filter, int lane,
                                           float* __restrict__ partial) {
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = first_row + i * kTileRows + h * 8 + lane / 4;
#pragma unroll
      for (int j = 0; j < kFragments; ++j) {
        const int filter = first_filter + j * 8 + lane % 4 * 2;
        if (row >= q.rows || filter >= q.filters) continue;
        *reinterpret_cast<float2*>(partial + std::int64_t{row} * q.filters + filter) =
            float2{sums[i][j][2 * h], sums[i][j][2 * h + 1]};
      }
    }
  }
}

/// Grid: slices of filters, spans of positions, rounds of rows. partial: (spans, rows, filters).
template <class T, int kTiles>
__global__ void __launch_bounds__(kThreads, kTiles == 1 ? 2 : 1)
    conv2d_mma_rows(const __grid_constant__ Problem<T> q, const T* __restrict__ dy,
                    float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  constexpr int kWarpRows = kTiles * kTileRows;
  __shared__ __align__(128) unsigned char shared[kSharedBytes];
  const mma::SharedAddress stages = mma::shared_address(shared);
  const mma::SharedAddress symbols = stages + kStages * kStageBytes;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int block_row = static_cast<int>(blockIdx.z) * kWarps * kWarpRows;
  const int first_row = block_row + warp * kWarpRows;
  const int first_filter = static_cast<int>(blockIdx.x) * kSlice;
  const std::int64_t begin = blockIdx.y * q.span;
  const std::int64_t end = min(q.positions, begin + q.span);

  const GradientCopier<T> gradients{dy, q.filters, first_filter + static_cast<int>(threadIdx.x) % 8 * 8, end};
  const auto copy = [&](int stage) {
    const std::int64_t from = begin + std::int64_t{stage} * kPositions;
    if (from < end) gradients.copy(from, stages + static_cast<unsigned>(stage % kStages) * kStageBytes);
    mma::commit_copies();
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) copy(stage);
  const SymbolMaker<T> maker(q, block_row, kWarps * kWarpRows, end,
                             reinterpret_cast<T*>(shared + kStages * kStageBytes));
  const LaneRows<T, kTiles> rows(q, maker, first_row, lane);
  T stored[SymbolMaker<T>::kAhead];
  maker.store_ones();
  maker.fetch(stored, begin);
  maker.store(stored, begin, 0);
  float sums[kTiles][kFragments][4] = {};

  int stage = 0;
  for (std::int64_t first = begin; first < end; first += kPositions, ++stage) {
    mma::wait_copies<kStages - 2>();
    // Stage and symbols are complete; all have multiplied the stage before, whose places are filled next.
    __syncthreads();
    copy(stage + kStages - 1);
    maker.fetch(stored, first + kPositions);
    if (first_row < q.rows) {
      multiply_stage<T, kTiles>(sums, rows, symbols + static_cast<unsigned>(stage % 2) * kSymbolsBytes,
                                stages + static_cast<unsigned>(stage % kStages) * kStageBytes, lane);
    }
    maker.store(stored, first + kPositions, (stage + 1) % 2);
  }
  mma::wait_copies<0>();
  write_sums<T, kTiles>(sums, q, first_row, first_filter, lane,
                        partial + std::int64_t{blockIdx.y} * q.rows * q.filters);
#endif
}

/// How a call is split. Only the shape fixes it.
struct Plan {
  int rows;
  int rounds;
  int tiles;  ///< of a warp
  int slices;
  std::int64_t spans;
  std::int64_t span;
};

constexpr std::int64_t parts(std::int64_t all, std::int64_t each) {
  return (all + each - 1) / each;
}

Plan plan_of(const OpShape& s) {
  constexpr std::int64_t kProcessors = kPlannedProcessors;
  Plan plan{};
  plan.rows = taps_of(s) * s.in_channels + 1;
  const std::int64_t tiles = parts(plan.rows, kTileRows);
  plan.rounds = static_cast<int>(parts(tiles, kMostTiles * kWarps));
  plan.tiles = static_cast<int>(parts(tiles, std::int64_t{plan.rounds} * kWarps));
  plan.slices = static_cast<int>(parts(s.out_channels, kSlice));
  const std::int64_t stages = parts(sizes::output_pixels(s), kPositions);
  const std::int64_t blocks = kProcessors * (plan.tiles == 1 ? 2 : 1);
  const std::int64_t wanted =
      std::clamp<std::int64_t>(blocks / (std::int64_t{plan.slices} * plan.rounds), 1, stages);
  plan.span = parts(stages, wanted) * kPositions;
  plan.spans = parts(sizes::output_pixels(s), plan.span);
  return plan;
}

template <class T, int kTiles>
void launch_tiles(const OpCall& call, const Plan& plan) {
  if constexpr (kTiles > 1) {
    if (plan.tiles < kTiles) return launch_tiles<T, kTiles - 1>(call, plan);
  }
  const OpShape& s = call.shape;
  const Problem<T> problem{text_of<T>(call), sizes::output_pixels(s), plan.span, s.out_channels, taps_of(s),
                           plan.rows};
  const dim3 grid(static_cast<unsigned>(plan.slices), static_cast<unsigned>(plan.spans),
                  static_cast<unsigned>(plan.rounds));
  run_kernel(call, {grid, kThreads}, conv2d_mma_rows<T, kTiles>, problem, Name::output_gradient,
             call.workspace);
}

void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const Plan plan = plan_of(s);
  if (call.precision == core::Precision::fp16) {
    launch_tiles<__half, kMostTiles>(call, plan);
  } else {
    launch_tiles<__nv_bfloat16, kMostTiles>(call, plan);
  }
  const row_sums::Sums sums{sizes::output_pixels(s), s.out_channels, plan.rows, 1};
  const StoreGradients store{call.operand<float>(Name::weights_gradient),
                             call.operand<float>(Name::bias_gradient), plan.rows - 1};
  row_sums::launch_sum(call, sums, plan.spans, store);
}

std::size_t workspace(const OpShape& s, core::Precision) {
  const Plan plan = plan_of(s);
  return sizeof(float) * static_cast<std::size_t>(plan.spans * plan.rows * s.out_channels);
}

std::string refuses_mma(const OpShape& s) {
  if (taps_of(s) > kMostTaps) return "takes kernels of at most 31 taps";
  if (s.out_channels % 8 != 0) return "takes filters in multiples of 8";
  return refuses(s);
}

}  // namespace
}  // namespace fused::rows

Variant mma_rows_backward_weights() {
  using namespace fused::rows;
  return cuda_variant(
      Op::conv2d_backward_weights, "mma_rows", backward_weights,
      "Tensor cores multiply gradients with one-hot characters made in registers; the bias's are "
      "one more row.",
      {.precisions = {core::Precision::fp16, core::Precision::bf16},
       .minimum_compute_capability = 80,
       .chain = backward_weights_and_bias_chain(),
       .workspace_bytes = workspace,
       .refuses = refuses_mma});
}

}  // namespace warpscope::ops::conv2d
