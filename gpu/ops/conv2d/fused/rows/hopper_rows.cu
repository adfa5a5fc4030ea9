// conv2d.backward_weights, variant `hopper_rows`: over `mma_rows` it adds wgmma, dy by the tensor memory accelerator,
// and symbols that are looked up once a stage instead of once a tap.
//
//   part[row][k] = sum over the split's positions p of one[row][p] * dy[p][k]
//   one[(t, c)][p] = b[p + t] is c + 1 ? 1 : 0; the last row is 1 everywhere, its sums are the bias gradient
//
// A stage is eight positions of eight texts (Lines) and 128 filters of dy, turned by the tensor cores. Beside it lie
// the symbols of the eight texts from its first position on, as far as the taps reach, in 16 bits: those of tap t
// begin t lines of eight texts further on. `one` is made in registers, by comparing a line with the symbol of a row,
// two elements an instruction; products with 1 and 0 are exact, sums FP32.
//
// Rows come in groups of eight of one tap, so that the lanes of a warp read the same line; characters of a tap that
// are no multiple of 8 leave rows empty. A unit is 256 rows and 128 filters: two warpgroups of 128 x 128 sums. A
// warpgroup makes `one` of half a stage while the products of the half before run. One warp of the
// producing warpgroup asks for dy, three take turns with the symbols. Positions are split into spans for 132
// multiprocessors, whatever the GPU has; a second kernel adds their parts in order, so results are deterministic.
//
// What is not finite in dy makes its filter's gradients NaN at all characters (mma_rows.cu).
//
// Limits: compute capability 9.0; FP16 and BF16; kernels of one row and at most 31 taps, without stride and dilation;
// filters in multiples of 8, best of 128; dy aligned to 16 bytes. The workspace has a copy of the gradients for each
// span. Bound by the tensor cores' reads of dy from shared memory. Threads 384 of 168 registers, exchanged to 40 and
// 232; shared memory 140 KiB. Source: mma_rows.cu; hopper_backward_weights.cu.

#include <algorithm>
#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/ops/conv2d/fused/rows/hopper_rows.h"
#include "gpu/ops/conv2d/fused/rows/rows.h"
#include "gpu/ops/conv2d/fused/rows/rows_gradients.cuh"
#include "gpu/ops/conv2d/taps_along.h"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/row_sums.cuh"
#include "gpu/ops/sizes.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/symbols.h"

namespace warpscope::ops::conv2d::fused::hopper {
namespace {

using rows::Half;
using rows::kNoSymbol;
using rows::ones_where_equal;
using rows::StoreGradients;

constexpr int kConsumers = 2;  // warpgroups
constexpr int kThreads = (1 + kConsumers) * static_cast<int>(kWarpgroup);
constexpr int kProducerRegisters = 40;
constexpr int kConsumerRegisters = 232;
constexpr int kFilters = 128;  // of a unit
constexpr int kTiles = 2;      // of 64 rows, of a warpgroup
constexpr int kGroup = 8;      // rows of one tap
constexpr int kUnitGroups = kConsumers * kTiles * 64 / kGroup;
constexpr int kStages = 8;
constexpr int kMostTaps = 31;
constexpr unsigned kSliceBytes = kPatchSide * kPeriodBytes;  // of dy: 64 positions, 64 filters
constexpr unsigned kLineBytes = 2 * kPatchSide;              // the symbols of a position of eight texts
constexpr int kLines = kPatchSide + kMostTaps - 1 + kPatchSide;
constexpr unsigned kTilesBytes = 2 * kSliceBytes;
constexpr unsigned kSymbolsAt = kStages * kTilesBytes;
constexpr unsigned kSymbolsBytes = kLines * kLineBytes;
constexpr unsigned kBarriersAt = kSymbolsAt + kStages * kSymbolsBytes;
constexpr unsigned kSharedBytes = kBarriersAt + 2 * kStages * 8 + kAlignSlack;

template <class T>
__device__ __forceinline__ unsigned pair_of(float low, float high) {
  return mma::narrow_pair(typename Half<T>::Math{}, low, high);
}

template <class T>
struct RowsProblem {
  const T* x;
  Grid grid;  ///< of dy
  int patches;
  int split_patches;
  int width;  ///< of a text
  int padding;
  int characters;
  int taps;
  int tap_groups;  ///< of rows, of a tap
  int groups;      ///< of rows; the last is that of the bias
  int filter_tiles;
  int filters;

  __device__ __forceinline__ int bias_row() const { return taps * characters; }
};

struct Unit {
  int filter;
  int group;  ///< the first of rows
  int first_patch;
  int end_patch;
};

/// The units of a split are neighbours: they read the same dy.
template <class T>
__device__ __forceinline__ Unit unit_of(const RowsProblem<T>& q) {
  const int i = static_cast<int>(blockIdx.x);
  const int first = static_cast<int>(blockIdx.y) * q.split_patches;
  return {i % q.filter_tiles * kFilters, i / q.filter_tiles * kUnitGroups, first,
          min(first + q.split_patches, q.patches)};
}

struct RowsPlaces {
  SharedAddress base;

  __device__ SharedAddress tiles(int i) const { return base + static_cast<unsigned>(i) * kTilesBytes; }
  __device__ SharedAddress symbols(int i) const {
    return base + kSymbolsAt + static_cast<unsigned>(i) * kSymbolsBytes;
  }
  __device__ SharedAddress full(int i) const { return barrier_at(base + kBarriersAt, i); }
  __device__ SharedAddress empty(int i) const { return barrier_at(base + kBarriersAt, kStages + i); }
};

__device__ __forceinline__ void store_word(SharedAddress to, unsigned word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
}

/// One thread: all copies of the block.
template <class T>
__device__ void copy_gradients(const RowsProblem<T>& q, const RowsPlaces& at, const CUtensorMap& dy) {
  prefetch_map(dy);
  const Unit unit = unit_of(q);
  Place patch = place_of(q.grid, unit.first_patch);
  Ring<kStages> ring;
#pragma unroll 1
  for (int i = unit.first_patch; i < unit.end_patch; ++i) {
    const SharedAddress full = at.full(ring.stage);
    wait(at.empty(ring.stage), ring.parity ^ 1);
    arrive_expecting(full, kTilesBytes);
#pragma unroll
    for (int slice = 0; slice < 2; ++slice) {
      load_box(at.tiles(ring.stage) + static_cast<unsigned>(slice) * kSliceBytes, dy, full,
               unit.filter + slice * kSlice, patch.column, 0, patch.row, patch.image);
    }
    advance(patch, q.grid);
    ring.advance();
  }
}

/// A warp: the symbols of each third stage, two texts a lane and line. `turn` of 3.
template <class T>
__device__ void look_up_symbols(const RowsProblem<T>& q, const RowsPlaces& at, int turn, int lane) {
  const Unit unit = unit_of(q);
  const int words = (kPatchSide + q.taps - 1) * kPatchSide / 2;
  Place patch = place_of(q.grid, unit.first_patch);
  Ring<kStages> ring;
#pragma unroll 1
  for (int i = unit.first_patch; i < unit.end_patch; ++i) {
    if ((i - unit.first_patch) % 3 == turn) {
      wait(at.empty(ring.stage), ring.parity ^ 1);
      for (int word = lane; word < words; word += 32) {
        const int text = patch.column + word % 4 * 2;
        const int column = patch.row + word / 4 - q.padding;
        float symbols[2];
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          const bool exists =
              text + k < q.grid.width && static_cast<unsigned>(column) < static_cast<unsigned>(q.width);
          const float stored = exists ? to_float(q.x[std::int64_t{text + k} * q.width + column]) : 0.0f;
          symbols[k] = static_cast<float>(symbol_of(stored, q.characters));
        }
        store_word(at.symbols(ring.stage) + static_cast<unsigned>(word) * 4,
                   pair_of<T>(symbols[0], symbols[1]));
      }
      arrive(at.full(ring.stage));
    }
    advance(patch, q.grid);
    ring.advance();
  }
}

/// The eight lines behind those of the taps, of all stages: 1 everywhere, which the row of the bias looks for.
template <class T>
__device__ __forceinline__ void store_ones(const RowsProblem<T>& q, const RowsPlaces& at, int thread) {
  constexpr int kWords = kPatchSide * kPatchSide / 2;
  const unsigned first = static_cast<unsigned>(kPatchSide + q.taps - 1) * kLineBytes;
  for (int i = thread; i < kStages * kWords; i += static_cast<int>(kWarpgroup)) {
    store_word(at.symbols(i / kWords) + first + static_cast<unsigned>(i % kWords) * 4,
               pair_of<T>(1.0f, 1.0f));
  }
}

/// A lane's four rows of the result: two tiles, of which it has row lane / 4 and the same of the next group.
template <class T>
struct LaneRows {
  unsigned symbol[kTiles][2];  ///< twice
  unsigned at[kTiles][2];      ///< the lane's word in the first line of the row's tap
  int row[kTiles][2];          ///< of the result; -1: empty

  __device__ __forceinline__ LaneRows(const RowsProblem<T>& q, int first_group, int lane) {
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int group = first_group + i * 2 + h;
        const int tap = group / q.tap_groups;
        const int character = group % q.tap_groups * kGroup + lane / 4;
        const bool of_tap = tap < q.taps && character < q.characters;
        const bool of_bias = group == q.groups - 1 && lane / 4 == 0;
        const int line = tap < q.taps ? tap : kPatchSide + q.taps - 1;
        const float value = of_tap ? static_cast<float>(character + 1) : of_bias ? 1.0f : kNoSymbol;
        symbol[i][h] = pair_of<T>(value, value);
        at[i][h] = static_cast<unsigned>(line) * kLineBytes + static_cast<unsigned>(lane) % 4 * 4;
        row[i][h] = of_tap ? tap * q.characters + character : of_bias ? q.bias_row() : -1;
      }
    }
  }
};

/// `one` of the positions from `first` on, of four of the eight: two steps of 16 positions.
template <class T>
__device__ __forceinline__ void make_ones(unsigned (&ones)[2][kTiles][4], const LaneRows<T>& rows,
                                          SharedAddress symbols, unsigned first) {
#pragma unroll
  for (int step = 0; step < 2; ++step) {
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const int h = w % 2;
        const unsigned line = first + 2 * static_cast<unsigned>(step) + static_cast<unsigned>(w / 2);
        const unsigned found = mma::load_word(symbols + rows.at[i][h] + line * kLineBytes);
        ones[step][i][w] = ones_where_equal<T>(found, rows.symbol[i][h]);
      }
    }
  }
}

/// The products of half a stage.
template <class T>
__device__ __forceinline__ void multiply_half(float (&sums)[kTiles][kSums],
                                              const unsigned (&ones)[2][kTiles][4], std::uint64_t gradients,
                                              int half) {
  fence_products();
#pragma unroll
  for (int step = 0; step < 2; ++step) {
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      multiply_registers<1>(typename Half<T>::Math{}, sums[i], ones[step][i],
                            advanced(gradients, static_cast<unsigned>(2 * half + step) * kTurnedStep));
    }
  }
  commit_products();
}

/// partial: (splits, rows of the result, filters).
template <class T>
__device__ __forceinline__ void write_sums(const RowsProblem<T>& q, const Unit& unit, const LaneRows<T>& rows,
                                           const float (&sums)[kTiles][kSums], float* partial, int lane) {
  float* part = partial + std::int64_t{blockIdx.y} * (q.bias_row() + 1) * q.filters;
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (rows.row[i][h] < 0) continue;
      float* to = part + std::int64_t{rows.row[i][h]} * q.filters;
#pragma unroll
      for (int j = 0; j < kFilters / 8; ++j) {
        const int filter = unit.filter + 8 * j + lane % 4 * 2;
        if (filter >= q.filters) continue;
        *reinterpret_cast<float2*>(to + filter) = float2{sums[i][4 * j + 2 * h], sums[i][4 * j + 2 * h + 1]};
      }
    }
  }
}

template <class T>
__device__ void consume(const RowsProblem<T>& q, const RowsPlaces& at, float* partial, int warp, int lane) {
  const Unit unit = unit_of(q);
  const LaneRows<T> rows(q, unit.group + warp * 2 * kTiles, lane);
  float sums[kTiles][kSums] = {};
  unsigned ones[2][2][kTiles][4];
  Ring<kStages> ring;
  SharedAddress used = 0;
#pragma unroll 1
  for (int i = unit.first_patch; i < unit.end_patch; ++i) {
    wait(at.full(ring.stage), ring.parity);
    const std::uint64_t gradients = describe(at.tiles(ring.stage), kSliceBytes);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      make_ones<T>(ones[half], rows, at.symbols(ring.stage), static_cast<unsigned>(half) * kPatchSide / 2);
      multiply_half<T>(sums, ones[half], gradients, half);
      wait_products<1>();  // the half before, whose ones are made anew next
      if (half == 0 && i > unit.first_patch) arrive(used);
    }
    used = at.empty(ring.stage);
    ring.advance();
  }
  wait_products<0>();
  write_sums(q, unit, rows, sums, partial, lane);
}

template <class T>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_hopper_rows(const __grid_constant__ RowsProblem<T> q, const __grid_constant__ CUtensorMap dy,
                       float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  const RowsPlaces at{first_tile(shared)};
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  if (thread == 0) {
    for (int i = 0; i < kStages; ++i) {
      make_barrier(at.full(i), 1 + 32);  // who asks for dy, and the lanes of a warp
      make_barrier(at.empty(i), kConsumers * static_cast<int>(kWarpgroup));
    }
    publish_barriers();
  }
  if (thread < static_cast<int>(kWarpgroup)) store_ones(q, at, thread);
  __syncthreads();
  if (thread < static_cast<int>(kWarpgroup)) {
    shrink_registers<kProducerRegisters>();
    if (thread == 0) copy_gradients(q, at, dy);
    if (warp > 0) look_up_symbols(q, at, warp - 1, thread % 32);
  } else {
    grow_registers<kConsumerRegisters>();
    consume(q, at, partial, warp - 4, thread % 32);
  }
#else
  __trap();  // this build has no code for sm_90a
#endif
}

// ---- the plan ----

/// How a call is split. Only the shape fixes it.
struct RowsPlan {
  int tap_groups;
  int groups;
  int filter_tiles;
  int units;
  int split_patches;
  int splits;
};

Lines gradient_of(const OpShape& s, const void* dy) {
  return {dy, static_cast<int>(s.batch * s.height), output_width(s), s.out_channels};
}

RowsPlan plan_of(const OpShape& s) {
  RowsPlan plan{};
  plan.tap_groups = static_cast<int>(divide_up(s.in_channels, kGroup));
  plan.groups = rows::taps_of(s) * plan.tap_groups + 1;
  plan.filter_tiles = static_cast<int>(divide_up(s.out_channels, kFilters));
  plan.units = plan.filter_tiles * static_cast<int>(divide_up(plan.groups, kUnitGroups));
  const int patches = grid_of(gradient_of(s, nullptr)).patches();
  const int wanted = std::clamp(kPlannedProcessors / plan.units, 1, patches);
  plan.split_patches = static_cast<int>(divide_up(patches, wanted));
  plan.splits = static_cast<int>(divide_up(patches, plan.split_patches));
  return plan;
}

template <class T>
void launch_products(const OpCall& call, const RowsPlan& plan) {
  const OpShape& s = call.shape;
  const Lines gradient = gradient_of(s, call.operand<const void>(Name::output_gradient));
  const Grid grid = grid_of(gradient);
  const RowsProblem<T> problem{call.operand<const T>(Name::input),
                               grid,
                               grid.patches(),
                               plan.split_patches,
                               s.width,
                               column_taps(s).padding,
                               s.in_channels,
                               rows::taps_of(s),
                               plan.tap_groups,
                               plan.groups,
                               plan.filter_tiles,
                               s.out_channels};
  const dim3 blocks(static_cast<unsigned>(plan.units), static_cast<unsigned>(plan.splits));
  run_kernel(call, {blocks, kThreads, kSharedBytes}, conv2d_hopper_rows<T>, problem,
             map_lines(gradient, kPatchSide, call.precision), call.workspace);
}

}  // namespace

std::string rows_backward_weights::refuses(const OpShape& s) {
  if (s.kernel_height != 1 || s.stride != 1 || s.dilation != 1) {
    return "takes kernels of one row, without stride and dilation";
  }
  if (s.kernel_width > kMostTaps) return "takes kernels of at most 31 taps";
  if (s.out_channels % 8 != 0) return "takes filters in multiples of 8";
  if (s.batch * s.height * std::max<std::int64_t>(s.width, std::int64_t{output_width(s)} * s.out_channels) >
      kMostElements) {
    return "at most 2e9 elements";
  }
  return rows::refuses(s);
}

std::size_t rows_backward_weights::workspace(const OpShape& s, core::Precision) {
  const RowsPlan plan = plan_of(s);
  const std::int64_t gradients = (std::int64_t{rows::taps_of(s)} * s.in_channels + 1) * s.out_channels;
  return sizeof(float) * static_cast<std::size_t>(plan.splits * gradients);
}

void rows_backward_weights::launch(const OpCall& call) {
  const OpShape& s = call.shape;
  const RowsPlan plan = plan_of(s);
  if (call.precision == core::Precision::fp16) {
    launch_products<__half>(call, plan);
  } else {
    launch_products<__nv_bfloat16>(call, plan);
  }
  const int weights = rows::taps_of(s) * s.in_channels;
  const row_sums::Sums sums{sizes::output_pixels(s), s.out_channels, weights + 1, 1};
  const StoreGradients store{call.operand<float>(Name::weights_gradient),
                             call.operand<float>(Name::bias_gradient), weights};
  row_sums::launch_sum(call, sums, plan.splits, store);
}

}  // namespace warpscope::ops::conv2d::fused::hopper
