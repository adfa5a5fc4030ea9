#pragma once
// conv2d.backward_weights `hopper_general`, the product:
//
//   part[split][k, tap, c] = sum over the split's pixels of dy[pixel, k] * x[what the tap reads for the pixel, c]
//
// Both operands have the pixels, over which is summed, as rows: the tensor cores turn them, which they do with 16 bits
// only (in TF32: hopper_general_turned_weights.cu). A stage of shared memory has 64 pixels of the slices of the block's
// units, and of as many slices of 64 channels as its columns need (hopper_general_weights.h). The copy engine finds the
// pixels that a tap reads by itself (im2col mode), whatever stride, dilation and padding are; what lies outside the
// images, and pixels past the last, are zeros. One thread copies, two warpgroups multiply, each its own units. A second
// kernel adds the splits in order (hopper_general_weights_sum.cu), so that the same bits come every time.
//
// The gradient of the bias is summed from the tiles of dy that are in shared memory anyway, by the three warps beside
// the one that copies: in the blocks of the first units, or of the first tap and columns.
//
// Limits: those of forward. Threads 384 of 168 registers, exchanged to 56 and 224; shared memory up to 225 KiB.
// Source: NVIDIA, "CUTLASS documentation", "Implicit GEMM convolution" and "Efficient GEMM in CUDA", section "Split-K".

#include <algorithm>
#include <cstdint>
#include <utility>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/ops/conv2d/hopper_general/hopper_general_ptx.cuh"
#include "gpu/ops/conv2d/hopper_general/hopper_general_weights.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general_weights_work.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::hopper_general {
namespace {

namespace tiles = fused::hopper;
using mma::SharedAddress;

constexpr unsigned kSliceBytes = kStagePixels * kRowBytes;  ///< of 64 channels: a unit

template <class Arithmetic, int kProducts, int kColumns>
struct WeightsShape {
  using Math = Arithmetic;
  static constexpr int products = kProducts;
  static constexpr int columns = kColumns;
  static constexpr int units = kConsumers * kProducts;
  static constexpr int sums = kColumns / 2;  ///< of a thread and unit
  static constexpr int column_slices = (kColumns + kSliceChannels - 1) / kSliceChannels;
  static constexpr unsigned columns_at = units * kSliceBytes;
  static constexpr unsigned stage_bytes = columns_at + column_slices * kSliceBytes;
  static constexpr unsigned barrier_bytes = 2 * kMostWeightStages * 8;
  static constexpr int stages = std::min<unsigned>(
      kMostWeightStages, (kMostSharedBytes - tiles::kAlignSlack - barrier_bytes) / stage_bytes);
  static constexpr unsigned barriers_at = stages * stage_bytes;
  static constexpr unsigned shared_bytes = barriers_at + barrier_bytes + tiles::kAlignSlack;
  static_assert(stages > 2 && shared_bytes <= kMostSharedBytes);
};

// ---- copies ----

/// The first pixel of a stage in its image, and how far the next stage's is, so that no stage costs a division.
struct PixelWalk {
  int image;
  int row;
  int column;
  int images_on;
  int rows_on;
  int columns_on;

  __device__ __forceinline__ PixelWalk(const WeightsProblem& q, int stage) {
    split(q, stage * kStagePixels, image, row, column);
    split(q, kStagePixels, images_on, rows_on, columns_on);
  }
  __device__ __forceinline__ void advance(const WeightsProblem& q) {
    column += columns_on;
    row += rows_on;
    image += images_on;
    if (column >= q.columns) {
      column -= q.columns;
      ++row;
    }
    if (row >= q.rows) {
      row -= q.rows;
      ++image;
    }
  }

 private:
  static __device__ __forceinline__ void split(const WeightsProblem& q, int pixel, int& image, int& row,
                                               int& column) {
    const int line = pixel / q.columns;
    image = line / q.rows;
    row = line - image * q.rows;
    column = pixel - line * q.columns;
  }
};

/// From what the first tap reads to what this one does: columns in the low half, rows in the high one.
__device__ __forceinline__ unsigned offsets_of(const WeightsProblem& q, int tap) {
  const int down = tap / q.right.count;
  const int right = tap - down * q.right.count;
  return static_cast<unsigned>(right * q.right.shift) | static_cast<unsigned>(down * q.down.shift) << 16;
}

/// What a copy brings is the same at every stage but for the pixels.
struct Copy {
  int channel;
  unsigned offsets;

  __device__ __forceinline__ void load(SharedAddress to, const CUtensorMap& map, SharedAddress full,
                                       int column, int row, int image) const {
    load_pixels(to, map, full, channel, column, row, image, static_cast<std::uint16_t>(offsets & 0xffff),
                static_cast<std::uint16_t>(offsets >> 16));
  }
};

/// A slice of the rows; past the last it is that one again, whose sums are not written.
__device__ __forceinline__ Copy copy_of_slice(const WeightsProblem& q, int slice) {
  const int existing = min(slice, q.all_slices - 1);
  const int tap = existing / q.slices;
  return {(existing - tap * q.slices) * q.slice, q.taps_in_rows ? offsets_of(q, tap) : 0};
}

/// One thread: all copies of the block.
template <class S>
__device__ void copy_stages(const WeightsProblem& q, const tiles::StagePlaces<S>& at, const WeightsMaps& maps,
                            const Work& work) {
  constexpr int kMostSlices = S::units * kUnitRows / kHalfSliceChannels;
  const CUtensorMap& row_map = q.taps_in_rows ? maps.input : maps.gradient;
  const CUtensorMap& column_map = q.taps_in_rows ? maps.gradient : maps.input;
  tiles::prefetch_map(row_map);
  tiles::prefetch_map(column_map);
  const int per_unit = kUnitRows / q.slice;
  const unsigned slice_bytes = kSliceBytes / static_cast<unsigned>(per_unit);
  Copy slices[kMostSlices];
#pragma unroll
  for (int k = 0; k < kMostSlices; ++k) slices[k] = copy_of_slice(q, work.first_unit * per_unit + k);
  const Copy column_slice{work.first_column, q.taps_in_rows ? 0 : offsets_of(q, work.tap)};
  PixelWalk pixel(q, work.first_stage);
  tiles::Ring<S::stages> ring;
#pragma unroll 1
  for (int i = work.first_stage; i < work.end_stage; ++i) {
    const SharedAddress full = at.full(ring.stage);
    const SharedAddress to = at.stage(ring.stage);
    const int read_column = q.right.lower + pixel.column * q.read_step;
    const int read_row = q.down.lower + pixel.row * q.read_step;
    tiles::wait(at.empty(ring.stage), ring.parity ^ 1);
    tiles::arrive_expecting(full, S::stage_bytes);
#pragma unroll
    for (int k = 0; k < kMostSlices; ++k) {
      if (k >= S::units * per_unit) break;
      slices[k].load(to + static_cast<unsigned>(k) * slice_bytes, row_map, full,
                     q.taps_in_rows ? read_column : pixel.column, q.taps_in_rows ? read_row : pixel.row,
                     pixel.image);
    }
#pragma unroll
    for (int k = 0; k < S::column_slices; ++k) {
      const Copy copy{column_slice.channel + k * kSliceChannels, column_slice.offsets};
      copy.load(to + S::columns_at + static_cast<unsigned>(k) * kSliceBytes, column_map, full,
                q.taps_in_rows ? pixel.column : read_column, q.taps_in_rows ? pixel.row : read_row,
                pixel.image);
    }
    pixel.advance(q);
    ring.advance();
  }
}

// ---- products ----

/// The descriptor of a unit of two halves, 4096 bytes apart, with the 64-byte swizzle: a turned operand as
/// hopper_tiles.cuh says, but of rows of 64 bytes and periods of 512. A step of 16 k is 1024 bytes.
__device__ __forceinline__ std::uint64_t describe_halves(SharedAddress tile) {
  constexpr std::uint64_t kSwizzle64 = std::uint64_t{2} << 62;
  constexpr std::uint64_t kPeriod = std::uint64_t{(tiles::kPeriodBytes / 2) >> 4} << 32;
  constexpr std::uint64_t kNext = std::uint64_t{(kSliceBytes / 2) >> 4} << 16;
  return kSwizzle64 | kPeriod | kNext | std::uint64_t{(tile & 0x3ffff) >> 4};
}

/// The sums of a consumer's units over the stages of the block. A stage is given back when the products after it have
/// been issued and its own are done.
template <class S>
__device__ __forceinline__ void multiply_pixels(float (&sums)[S::products][S::sums],
                                                const tiles::StagePlaces<S>& at, bool halves, int count,
                                                int consumer, int lane) {
  const unsigned row_step = halves ? tiles::kTurnedStep / 2 : tiles::kTurnedStep;
  tiles::Ring<S::stages> ring;
  SharedAddress used = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const SharedAddress stage = at.stage(ring.stage);
    const SharedAddress units = stage + static_cast<unsigned>(consumer * S::products) * kSliceBytes;
    // 64 channels are the whole unit: there is no next slice of it.
    const std::uint64_t a = halves ? describe_halves(units) : tiles::describe(units, 16);
    const std::uint64_t b = tiles::describe(stage + S::columns_at, kSliceBytes);
    tiles::wait(at.full(ring.stage), ring.parity);
    tiles::fence_products();
#pragma unroll
    for (int step = 0; step < kStagePixels / 16; ++step) {
      const auto nth = static_cast<unsigned>(step);
#pragma unroll
      for (int p = 0; p < S::products; ++p) {
        add_turned_product(typename S::Math{}, sums[p],
                           tiles::advanced(a, static_cast<unsigned>(p) * kSliceBytes + nth * row_step),
                           tiles::advanced(b, nth * tiles::kTurnedStep));
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
__device__ void multiply_and_write(const WeightsProblem& q, const tiles::StagePlaces<S>& at, const Work& work,
                                   float* partial, int consumer, int thread) {
  float sums[S::products][S::sums];
#pragma unroll
  for (int p = 0; p < S::products; ++p) {
#pragma unroll
    for (int i = 0; i < S::sums; ++i) sums[p][i] = 0.0f;
  }
  multiply_pixels<S>(sums, at, q.slice == kHalfSliceChannels, work.end_stage - work.first_stage, consumer,
                     thread % 32);
  write_partial<S>(q, work, sums, partial, consumer, thread);
}

// ---- the gradient of the bias ----

/// Adds eight channels of every fourth pixel of a slice, whose chunks of 16 bytes the copy engine has exchanged.
template <class Math>
__device__ __forceinline__ void add_pixels(float (&sums)[8], const unsigned char* slice, int lane) {
  const int chunk = lane % 8;
#pragma unroll 4
  for (int pixel = lane / 8; pixel < kStagePixels; pixel += 4) {
    const uint4 eight =
        *reinterpret_cast<const uint4*>(slice + pixel * kRowBytes + ((chunk ^ pixel) & 7) * 16);
    const unsigned words[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      sums[2 * k] += mma::widen(Math{}, static_cast<std::uint16_t>(words[k] & 0xffff));
      sums[2 * k + 1] += mma::widen(Math{}, static_cast<std::uint16_t>(words[k] >> 16));
    }
  }
}

/// One of the warps that add up dy: every third of its slices.
template <class S>
__device__ void add_gradient(const WeightsProblem& q, const tiles::StagePlaces<S>& at,
                             const unsigned char* shared, const Work& work, float* partial, int warp,
                             int lane) {
  constexpr int kMost = (std::max(S::units, S::column_slices) + kAddingWarps - 1) / kAddingWarps;
  const unsigned begin = q.taps_in_rows ? S::columns_at : 0;
  const int slices = q.taps_in_rows ? S::column_slices : S::units;
  float sums[kMost][8] = {};
  tiles::Ring<S::stages> ring;
#pragma unroll 1
  for (int i = work.first_stage; i < work.end_stage; ++i) {
    tiles::wait(at.full(ring.stage), ring.parity);
    const unsigned char* stage = shared + static_cast<unsigned>(ring.stage) * S::stage_bytes + begin;
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      const int slice = warp + k * kAddingWarps;
      if (slice < slices) {
        add_pixels<typename S::Math>(sums[k], stage + static_cast<unsigned>(slice) * kSliceBytes, lane);
      }
    }
    tiles::arrive(at.empty(ring.stage));  // each lane: it has read for itself
    ring.advance();
  }
  // A tile's last slice of columns may reach into the next tile.
  const int first = q.taps_in_rows ? work.first_column : work.first_unit * kSliceChannels;
  const int channels = q.taps_in_rows ? min(q.column_channels - first, S::columns) : q.row_channels - first;
  float* const to = partial + blockIdx.y * q.split_elements + q.bias_at + first;
#pragma unroll
  for (int k = 0; k < kMost; ++k) {
#pragma unroll
    for (int apart = 8; apart < 32; apart *= 2) {
#pragma unroll
      for (float& sum : sums[k]) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    }
    const int channel = (warp + k * kAddingWarps) * kSliceChannels + 8 * lane;
    if (lane >= 8 || warp + k * kAddingWarps >= slices || channel >= channels) continue;
#pragma unroll
    for (int e = 0; e < 8; ++e) to[channel + e] = sums[k][e];
  }
}

template <class S>
__global__ void __launch_bounds__(kWeightThreads, 1)
    conv2d_hopper_general_weights(const __grid_constant__ WeightsProblem q,
                                  const __grid_constant__ WeightsMaps maps, float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  const tiles::StagePlaces<S> at{tiles::first_tile(shared)};
  const Work work = work_of<S>(q);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) make_weight_barriers(at, work);
  __syncthreads();
  if (thread < kWarpgroup) {
    tiles::shrink_registers<kCopyingRegisters>();
    if (thread == 0) copy_stages<S>(q, at, maps, work);
    if (work.adds && thread >= 32) {
      add_gradient<S>(q, at, shared + (at.base - mma::shared_address(shared)), work, partial, thread / 32 - 1,
                      thread % 32);
    }
  } else {
    tiles::grow_registers<kMultiplyingRegisters>();
    multiply_and_write<S>(q, at, work, partial, thread / kWarpgroup - 1, thread % kWarpgroup);
  }
#else
  __trap();  // this build has no code for sm_90a
#endif
}

// ---- launches ----

template <class Math, int kProducts, int kColumns>
void launch_weights_size(const OpCall& call, const WeightsProblem& problem, const WeightsMaps& maps) {
  using S = WeightsShape<Math, kProducts, kColumns>;
  const dim3 blocks(static_cast<unsigned>(problem.blocks), static_cast<unsigned>(problem.splits));
  run_kernel(call, {blocks, kWeightThreads, S::shared_bytes}, conv2d_hopper_general_weights<S>, problem, maps,
             call.workspace);
}

/// Launches the one of kTileColumns that the tile has.
template <class Math, int kProducts, std::size_t... kIndex>
void launch_weights_columns(const OpCall& call, const WeightsPlan& plan, const WeightsMaps& maps,
                            std::index_sequence<kIndex...>) {
  ((plan.tile.columns == kTileColumns[kIndex]
        ? launch_weights_size<Math, kProducts, kTileColumns[kIndex]>(call, plan.problem, maps)
        : void()),
   ...);
}

template <class Math>
void launch_weights(const OpCall& call, const WeightsPlan& plan, const WeightsMaps& maps) {
  constexpr auto kAll = std::make_index_sequence<kTileColumns.size()>();
  if (plan.tile.products == 1) return launch_weights_columns<Math, 1>(call, plan, maps, kAll);
  return launch_weights_columns<Math, 2>(call, plan, maps, kAll);
}

}  // namespace
}  // namespace warpscope::ops::conv2d::hopper_general
