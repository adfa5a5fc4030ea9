// conv2d.backward_weights `hopper_general_turned`, the product, in TF32:
//
//   part[split][k, tap, c] = sum over the split's pixels of dy[pixel, k] * x[what the tap reads for the pixel, c]
//
// It is that of hopper_general_weights.cuh, but its operands lie turned in the workspace (hopper_general_turned.h): a
// stage is one pixel of 32 images, so that a row of 128 bytes in shared memory has what is summed of one channel.
// Slices of rows are copied as boxes of 64 or 32 channels, each at its own tap, columns as one box of all. Zeros around
// the images come from the tensor maps' bounds. The copy engine rounds to TF32 on the way, to nearest.
//
// The gradient of the bias is summed from the rows of dy in shared memory, a lane each, rounded as they are.
//
// Limits: cuda_hopper_general_turned.cpp. Threads 384 of 168 registers, exchanged to 56 and 224; shared memory up to
// 225 KiB.
// Source: NVIDIA, "CUTLASS documentation", "Implicit GEMM convolution" and "Efficient GEMM in CUDA", section "Split-K".

#include <algorithm>
#include <cstdint>
#include <utility>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/ops/conv2d/hopper_general/hopper_general_ptx.cuh"
#include "gpu/ops/conv2d/hopper_general/hopper_general_turned.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general_weights_work.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::hopper_general {
namespace {

namespace tiles = fused::hopper;
using mma::SharedAddress;

constexpr unsigned kUnitBytes = kUnitRows * kRowBytes;
constexpr int kLaneGroup = 32;  ///< rows of dy that a warp adds at once, a lane each

template <int kProducts, int kColumns>
struct TurnedShape {
  static constexpr int products = kProducts;
  static constexpr int columns = kColumns;
  static constexpr int units = kConsumers * kProducts;
  static constexpr int sums = kColumns / 2;  ///< of a thread and unit
  static constexpr unsigned columns_at = units * kUnitBytes;
  static constexpr unsigned stage_bytes = columns_at + kColumns * kRowBytes;
  static constexpr unsigned barrier_bytes = 2 * kMostWeightStages * 8;
  static constexpr int stages = std::min<unsigned>(
      kMostWeightStages, (kMostSharedBytes - tiles::kAlignSlack - barrier_bytes) / stage_bytes);
  static constexpr unsigned barriers_at = stages * stage_bytes;
  static constexpr unsigned shared_bytes = barriers_at + barrier_bytes + tiles::kAlignSlack;
  static_assert(stage_bytes % tiles::kPeriodBytes == 0 && columns_at % tiles::kPeriodBytes == 0);
  static_assert(stages > 2 && shared_bytes <= kMostSharedBytes);
};

// ---- copies ----

/// What the taps read first for a stage's pixel, and the pixel itself.
struct TurnedPixel {
  int chunk;
  int row;
  int column;

  __device__ __forceinline__ TurnedPixel(const WeightsProblem& q, int stage) {
    const int line = stage / q.columns;
    chunk = line / q.rows;
    row = line - chunk * q.rows;
    column = stage - line * q.columns;
  }
  __device__ __forceinline__ void advance(const WeightsProblem& q) {
    if (++column < q.columns) return;
    column = 0;
    if (++row < q.rows) return;
    row = 0;
    ++chunk;
  }
};

/// What a copy brings is the same at every stage but for the pixel: channels, and how far a tap is from the first.
struct TurnedCopy {
  int channel;
  int right;
  int down;

  __device__ __forceinline__ void load(SharedAddress to, const CUtensorMap& map, SharedAddress full,
                                       int column, int row, int chunk) const {
    tiles::load_box(to, map, full, 0, channel, column + right, row + down, chunk);
  }
};

__device__ __forceinline__ TurnedCopy copy_of_tap(const WeightsProblem& q, int channel, int tap) {
  const int down = tap / q.right.count;
  return {channel, (tap - down * q.right.count) * q.right.shift, down * q.down.shift};
}

/// A slice of the rows; past the last it is that one again, whose sums are not written.
__device__ __forceinline__ TurnedCopy copy_of_turned_slice(const WeightsProblem& q, int slice) {
  const int existing = min(slice, q.all_slices - 1);
  const int tap = existing / q.slices;
  return copy_of_tap(q, (existing - tap * q.slices) * q.slice, q.taps_in_rows ? tap : 0);
}

/// One thread: all copies of the block.
template <class S>
__device__ void copy_turned(const WeightsProblem& q, const tiles::StagePlaces<S>& at, const WeightsMaps& maps,
                            const Work& work) {
  constexpr int kMostSlices = S::units * kUnitRows / kHalfSliceChannels;
  const CUtensorMap& row_map = q.taps_in_rows ? maps.input : maps.gradient;
  const CUtensorMap& column_map = q.taps_in_rows ? maps.gradient : maps.input;
  tiles::prefetch_map(row_map);
  tiles::prefetch_map(column_map);
  const int per_unit = kUnitRows / q.slice;
  const unsigned slice_bytes = kUnitBytes / static_cast<unsigned>(per_unit);
  TurnedCopy slices[kMostSlices];
#pragma unroll
  for (int k = 0; k < kMostSlices; ++k) slices[k] = copy_of_turned_slice(q, work.first_unit * per_unit + k);
  const TurnedCopy columns = copy_of_tap(q, work.first_column, q.taps_in_rows ? 0 : work.tap);
  TurnedPixel pixel(q, work.first_stage);
  tiles::Ring<S::stages> ring;
#pragma unroll 1
  for (int i = work.first_stage; i < work.end_stage; ++i) {
    const SharedAddress full = at.full(ring.stage);
    const SharedAddress to = at.stage(ring.stage);
    const int read_column = q.right.lower + pixel.column * q.read_step;
    const int read_row = q.down.lower + pixel.row * q.read_step;
    const int of_rows[2] = {q.taps_in_rows ? read_column : pixel.column,
                            q.taps_in_rows ? read_row : pixel.row};
    const int of_columns[2] = {q.taps_in_rows ? pixel.column : read_column,
                               q.taps_in_rows ? pixel.row : read_row};
    tiles::wait(at.empty(ring.stage), ring.parity ^ 1);
    tiles::arrive_expecting(full, S::stage_bytes);
#pragma unroll
    for (int k = 0; k < kMostSlices; ++k) {
      if (k >= S::units * per_unit) break;
      slices[k].load(to + static_cast<unsigned>(k) * slice_bytes, row_map, full, of_rows[0], of_rows[1],
                     pixel.chunk);
    }
    columns.load(to + S::columns_at, column_map, full, of_columns[0], of_columns[1], pixel.chunk);
    pixel.advance(q);
    ring.advance();
  }
}

// ---- products ----

/// The sums of a consumer's units over the stages of the block. A stage is given back when the products after it have
/// been issued and its own are done.
template <class S>
__device__ __forceinline__ void multiply_lanes(float (&sums)[S::products][S::sums],
                                               const tiles::StagePlaces<S>& at, int count, int consumer,
                                               int lane) {
  tiles::Ring<S::stages> ring;
  SharedAddress used = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const SharedAddress stage = at.stage(ring.stage);
    const std::uint64_t a =
        tiles::describe(stage + static_cast<unsigned>(consumer * S::products) * kUnitBytes, 16);
    const std::uint64_t b = tiles::describe(stage + S::columns_at, 16);
    tiles::wait(at.full(ring.stage), ring.parity);
    tiles::fence_products();
#pragma unroll
    for (int step = 0; step < tiles::kSteps; ++step) {
      const unsigned further = static_cast<unsigned>(step) * tiles::kStraightStep;
#pragma unroll
      for (int p = 0; p < S::products; ++p) {
        add_product(mma::Tf32{}, sums[p], tiles::advanced(a, static_cast<unsigned>(p) * kUnitBytes + further),
                    tiles::advanced(b, further));
      }
    }
    tiles::commit_products();
    tiles::wait_products<1>();
    if (used != 0 && lane == 0) tiles::arrive(used);
    used = at.empty(ring.stage);
    ring.advance();
  }
  tiles::wait_products<0>();
}

template <class S>
__device__ void multiply_and_write_turned(const WeightsProblem& q, const tiles::StagePlaces<S>& at,
                                          const Work& work, float* partial, int consumer, int thread) {
  float sums[S::products][S::sums];
#pragma unroll
  for (int p = 0; p < S::products; ++p) {
#pragma unroll
    for (int i = 0; i < S::sums; ++i) sums[p][i] = 0.0f;
  }
  multiply_lanes<S>(sums, at, work.end_stage - work.first_stage, consumer, thread % 32);
  write_partial<S>(q, work, sums, partial, consumer, thread);
}

// ---- the gradient of the bias ----

/// The sum of a row of 128 bytes, whose chunks of 16 bytes the copy engine has exchanged.
__device__ __forceinline__ float sum_of_row(const unsigned char* tile, int row) {
  float sum = 0.0f;
#pragma unroll
  for (int chunk = 0; chunk < kRowBytes / 16; ++chunk) {
    const float4 four = *reinterpret_cast<const float4*>(tile + row * kRowBytes + ((chunk ^ row) & 7) * 16);
    sum += (four.x + four.y) + (four.z + four.w);
  }
  return sum;
}

/// One of the warps that add up dy: every third group of 32 of its channels.
template <class S>
__device__ void add_turned_gradient(const WeightsProblem& q, const tiles::StagePlaces<S>& at,
                                    const unsigned char* shared, const Work& work, float* partial, int warp,
                                    int lane) {
  constexpr int kMostRows = std::max(S::units * kUnitRows, S::columns);
  constexpr int kMost = (kMostRows + kLaneGroup * kAddingWarps - 1) / (kLaneGroup * kAddingWarps);
  const unsigned begin = q.taps_in_rows ? S::columns_at : 0;
  const int rows = q.taps_in_rows ? S::columns : S::units * kUnitRows;
  float sums[kMost] = {};
  tiles::Ring<S::stages> ring;
#pragma unroll 1
  for (int i = work.first_stage; i < work.end_stage; ++i) {
    tiles::wait(at.full(ring.stage), ring.parity);
    const unsigned char* tile = shared + static_cast<unsigned>(ring.stage) * S::stage_bytes + begin;
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      const int row = (warp + k * kAddingWarps) * kLaneGroup + lane;
      if (row < rows) sums[k] += sum_of_row(tile, row);
    }
    tiles::arrive(at.empty(ring.stage));  // each lane: it has read for itself
    ring.advance();
  }
  const int first = q.taps_in_rows ? work.first_column : work.first_unit * kUnitRows;
  const int channels = (q.taps_in_rows ? q.column_channels : q.row_channels) - first;
  float* const to = partial + blockIdx.y * q.split_elements + q.bias_at + first;
#pragma unroll
  for (int k = 0; k < kMost; ++k) {
    const int row = (warp + k * kAddingWarps) * kLaneGroup + lane;
    if (row < min(rows, channels)) to[row] = sums[k];
  }
}

template <class S>
__global__ void __launch_bounds__(kWeightThreads, 1)
    conv2d_hopper_general_turned_weights(const __grid_constant__ WeightsProblem q,
                                         const __grid_constant__ WeightsMaps maps,
                                         float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  const tiles::StagePlaces<S> at{tiles::first_tile(shared)};
  const Work work = work_of<S>(q);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) make_weight_barriers(at, work);
  __syncthreads();
  if (thread < kWarpgroup) {
    tiles::shrink_registers<kCopyingRegisters>();
    if (thread == 0) copy_turned<S>(q, at, maps, work);
    if (work.adds && thread >= 32) {
      add_turned_gradient<S>(q, at, shared + (at.base - mma::shared_address(shared)), work, partial,
                             thread / 32 - 1, thread % 32);
    }
  } else {
    tiles::grow_registers<kMultiplyingRegisters>();
    multiply_and_write_turned<S>(q, at, work, partial, thread / kWarpgroup - 1, thread % kWarpgroup);
  }
#else
  __trap();  // this build has no code for sm_90a
#endif
}

// ---- launches ----

template <int kProducts, int kColumns>
void launch_turned_size(const OpCall& call, const WeightsProblem& problem, const WeightsMaps& maps) {
  using S = TurnedShape<kProducts, kColumns>;
  const dim3 blocks(static_cast<unsigned>(problem.blocks), static_cast<unsigned>(problem.splits));
  run_kernel(call, {blocks, kWeightThreads, S::shared_bytes}, conv2d_hopper_general_turned_weights<S>,
             problem, maps, call.workspace);
}

/// Launches the one of kTileColumns that the tile has.
template <int kProducts, std::size_t... kIndex>
void launch_turned_columns(const OpCall& call, const WeightsPlan& plan, const WeightsMaps& maps,
                           std::index_sequence<kIndex...>) {
  ((plan.tile.columns == kTileColumns[kIndex]
        ? launch_turned_size<kProducts, kTileColumns[kIndex]>(call, plan.problem, maps)
        : void()),
   ...);
}

}  // namespace

void launch_turned_weights(const OpCall& call, const WeightsPlan& plan, const WeightsMaps& maps) {
  constexpr auto kAll = std::make_index_sequence<kTileColumns.size()>();
  if (plan.tile.products == 1) return launch_turned_columns<1>(call, plan, maps, kAll);
  return launch_turned_columns<2>(call, plan, maps, kAll);
}

}  // namespace warpscope::ops::conv2d::hopper_general
