// conv2d.backward_weights, variant `implicit_gemm`: over `naive` it adds reuse, and parallel work along the
// sum. The gradient is a matrix product over all pixels of one tensor and the shifted pixels of the other,
//
//   dw[k, (r, s, c)] = sum over pixels of dy[pixel, k] * x[pixel shifted by (r, s), c]
//
// A[pixel][k] and B[pixel][(r, s, c)] both lie in memory as the tiles want them. The result is small and the
// sum long, so the pixels are split among blocks; each writes a partial result to the workspace, and a second
// kernel adds them in a fixed order: the same bits every time.
//
// Which tensor is shifted is a choice: with x[pixel, c] * dy[pixel shifted by -(r, s), k] the rows are c and
// the columns (r, s, k). The one that makes fuller tiles wins: for 3 output channels 27 columns instead of 3
// rows.
//
// Tiles: 128x128, 128x64, 64x64 or 128x32, and the number of splits, by implicit_gemm_plan.h. Channels in
// fours are read 16 bytes at a time, others 4. Convolutions that are not plain (conv2d.cpp) shift x, found by
// general_taps.cuh, and have two of the tiles, 128x64 and 128x32. Limits: tensors of at most 2e9 elements; up
// to 128 MiB of workspace; the shifted tensor is read once per tap, from the L2 cache.
// Registers and shared memory: implicit_gemm_tile.cuh.
// Source: as forward's; splitting a sum among blocks ("split-K"): NVIDIA, CUTLASS documentation, "Efficient
// GEMM in CUDA".

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/general_taps.cuh"
#include "gpu/ops/conv2d/implicit_gemm_launch.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

struct WeightsProblem {
  Taps taps;  ///< the shifted tensor
  int rows;   ///< channels of the plain tensor
  int columns;
  int split_pixels;
  int column_tiles;
  bool vectors_out;
};

/// k = pixels, kDepth at a time.
template <int kDepth>
struct PixelCursor {
  int pixel;
  __device__ __forceinline__ void advance() { pixel += kDepth; }
};

/// A: the plain tensor.
template <class T, int kVector>
struct PlainPixels : Rows<T::rows, T::depth, kVector> {
  int rows;
  int end;
  bool exists;
  const float* from;

  __device__ __forceinline__ PlainPixels(const WeightsProblem& q, const float* plain, int first_row,
                                         int end_pixel)
      : rows(q.rows),
        end(end_pixel),
        exists(first_row + this->side < q.rows),
        from(plain + first_row + this->side) {}
  __device__ __forceinline__ void fetch(const PixelCursor<T::depth>& at) {
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const int pixel = at.pixel + this->k + i * this->step;
      this->clear_one(i);
      if (exists && pixel < end) this->fetch_one(i, from + pixel * rows);
    }
  }
};

/// B: the shifted tensor, channels in fours. A thread's four columns are one tap and four channels of it for
/// the whole kernel.
template <class T>
struct ShiftedVectors : Rows<T::columns, T::depth, 4> {
  const Taps& taps;
  int end;
  bool exists;
  DensePlace column;
  int offset;  ///< from the pixel's first channel to the first element that is read
  const float* shifted;

  __device__ __forceinline__ ShiftedVectors(const WeightsProblem& q, const float* of, int first_column,
                                            int end_pixel)
      : taps(q.taps),
        end(end_pixel),
        exists(first_column + this->side < q.columns),
        column(taps, first_column + this->side),
        offset(taps.shift(column.r, column.s) * taps.channels + column.channel),
        shifted(of) {}
  __device__ __forceinline__ void fetch(const PixelCursor<T::depth>& at) {
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const int pixel = at.pixel + this->k + i * this->step;
      const PixelPlace place(taps, pixel);
      this->clear_one(i);
      if (exists && pixel < end && taps.inside(place.row, place.column, column.r, column.s)) {
        this->fetch_one(i, shifted + static_cast<unsigned>(pixel * taps.channels + offset));
      }
    }
  }
};

/// B: the shifted tensor, any number of channels. A thread reads neighbouring pixels, so that it divides once
/// a stage.
template <class T>
struct ShiftedScalars : TransposedScalars<T::columns, T::depth> {
  const Taps& taps;
  int end;
  bool exists;
  DensePlace column;
  int offset;
  const float* shifted;

  __device__ __forceinline__ ShiftedScalars(const WeightsProblem& q, const float* of, int first_column,
                                            int end_pixel)
      : taps(q.taps),
        end(end_pixel),
        exists(first_column + this->side < q.columns),
        column(taps, first_column + this->side),
        offset(taps.shift(column.r, column.s) * taps.channels + column.channel),
        shifted(of) {}
  __device__ __forceinline__ void fetch(const PixelCursor<T::depth>& at) {
    const int first = at.pixel + this->k;
    PixelPlace place(taps, first);
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const bool inside =
          exists && first + i < end && taps.inside(place.row, place.column, column.r, column.s);
      this->value[i] = inside ? shifted[static_cast<unsigned>((first + i) * taps.channels + offset)] : 0.0f;
      place.advance(taps);
    }
  }
};

/// The problem of convolutions that are not plain (conv2d.cpp): x is the shifted tensor.
struct GeneralProblem : WeightsProblem {
  GeneralTaps general;
};

/// As ShiftedVectors.
template <class T>
struct GeneralVectors : Rows<T::columns, T::depth, 4> {
  const GeneralTaps& taps;
  int end;
  GeneralColumn column;
  const float* shifted;

  __device__ __forceinline__ GeneralVectors(const GeneralProblem& q, const float* of, int first_column,
                                            int end_pixel)
      : taps(q.general), end(end_pixel), column(q.general, first_column + this->side), shifted(of) {}
  __device__ __forceinline__ void fetch(const PixelCursor<T::depth>& at) {
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const int pixel = at.pixel + this->k + i * this->step;
      const GeneralPlace place(taps, pixel);
      this->clear_one(i);
      if (pixel < end && column.inside(taps, place)) {
        this->fetch_one(i, shifted + column.element(taps, place));
      }
    }
  }
};

/// As ShiftedScalars.
template <class T>
struct GeneralScalars : TransposedScalars<T::columns, T::depth> {
  const GeneralTaps& taps;
  int end;
  GeneralColumn column;
  const float* shifted;

  __device__ __forceinline__ GeneralScalars(const GeneralProblem& q, const float* of, int first_column,
                                            int end_pixel)
      : taps(q.general), end(end_pixel), column(q.general, first_column + this->side), shifted(of) {}
  __device__ __forceinline__ void fetch(const PixelCursor<T::depth>& at) {
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const int pixel = at.pixel + this->k + i;
      const GeneralPlace place(taps, pixel);
      const bool inside = pixel < end && column.inside(taps, place);
      this->value[i] = inside ? shifted[column.element(taps, place)] : 0.0f;
    }
  }
};

template <class T, class LoaderA, class LoaderB, class Problem>
__global__ void __launch_bounds__(kGemmThreads, 2)
    implicit_gemm_weights(const Problem q, const float* __restrict__ plain, const float* __restrict__ shifted,
                          float* __restrict__ partial) {
  __shared__ __align__(16) float shared[2 * T::stage];
  const int first_row = static_cast<int>(blockIdx.x) / q.column_tiles * T::rows;
  const int first_column = static_cast<int>(blockIdx.x) % q.column_tiles * T::columns;
  const int begin = static_cast<int>(blockIdx.y) * q.split_pixels;
  const int end = min(q.taps.pixels, begin + q.split_pixels);
  const TilePlace place = place_of_thread<T>();
  LoaderA a(q, plain, first_row, end);
  LoaderB b(q, shifted, first_column, end);
  float sum[8][8];
  multiply<T>(sum, a, b, PixelCursor<T::depth>{begin}, (end - begin + T::depth - 1) / T::depth, shared,
              place);
  float* mine = partial + static_cast<std::int64_t>(blockIdx.y) * q.rows * q.columns;
  finish<T>(sum, shared, place, first_row, first_column, {mine, q.rows, q.columns, q.vectors_out});
}

inline constexpr int kSumElements = 32;
inline constexpr int kSumGroups = 8;

/// Where element i of the partial results, (rows, taps, shifted channels), belongs in dw.
struct Arrangement {
  bool swapped;
  int in_channels;
  int out_channels;
  int taps;

  __device__ __forceinline__ int place(int i) const {
    if (!swapped) return i;
    const int k = i % out_channels;
    const int rest = i / out_channels;
    // The taps shift dy by minus their shift of x: they are counted from the other end.
    const int tap = taps - 1 - rest % taps;
    return (k * taps + tap) * in_channels + rest / taps;
  }
};

// Thread (i, j) of a block adds the splits j, j + 8, ... of element i; then the eight sums are added in
// order.
__global__ void implicit_gemm_weights_sum(int elements, int splits, Arrangement arrangement,
                                          const float* __restrict__ partial, float* __restrict__ dw) {
  __shared__ float sums[kSumGroups][kSumElements];
  const int i = static_cast<int>(blockIdx.x) * kSumElements + static_cast<int>(threadIdx.x);
  float sum = 0.0f;
  if (i < elements) {
    const float* from = partial + i;
#pragma unroll 4
    for (int split = static_cast<int>(threadIdx.y); split < splits; split += kSumGroups) {
      sum += from[static_cast<std::int64_t>(split) * elements];
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || i >= elements) return;
#pragma unroll
  for (int group = 1; group < kSumGroups; ++group) sum += sums[group][threadIdx.x];
  dw[arrangement.place(i)] = sum;
}

std::size_t workspace(const OpShape& s, core::Precision) {
  const WeightsPlan plan = plan_weights(s);
  return sizeof(float) * static_cast<std::size_t>(plan.splits * plan.rows * plan.columns);
}

/// The tensors of one call, in the terms of the plan.
struct WeightsCall {
  WeightsPlan plan;
  Taps taps;
  const float* plain;
  const float* shifted;
  float* partial;
  const Variant* variant;
  core::Stream* stream;
};

template <class T>
WeightsProblem problem_of(const WeightsCall& call) {
  const auto columns = static_cast<int>(call.plan.columns);
  return {call.taps,
          static_cast<int>(call.plan.rows),
          columns,
          static_cast<int>(call.plan.split_pixels),
          (columns + T::columns - 1) / T::columns,
          columns % 4 == 0};
}

template <class T>
void launch_tile(const WeightsCall& call) {
  const WeightsPlan& plan = call.plan;
  const WeightsProblem problem = problem_of<T>(call);
  const dim3 blocks(static_cast<unsigned>(count_tiles(plan.tile, plan.rows, plan.columns)),
                    static_cast<unsigned>(plan.splits));
  const bool plain_vectors = plan.rows % 4 == 0 && takes_vectors(call.plain);
  const bool shifted_vectors = call.taps.channels % 4 == 0 && takes_vectors(call.shifted);
  const auto launch = [&](auto kernel) {
    run_kernel(call, {blocks, kGemmThreads}, kernel, problem, call.plain, call.shifted, call.partial);
  };
  if (!plain_vectors)
    return launch(implicit_gemm_weights<T, PlainPixels<T, 1>, ShiftedScalars<T>, WeightsProblem>);
  if (!shifted_vectors)
    return launch(implicit_gemm_weights<T, PlainPixels<T, 4>, ShiftedScalars<T>, WeightsProblem>);
  launch(implicit_gemm_weights<T, PlainPixels<T, 4>, ShiftedVectors<T>, WeightsProblem>);
}

template <class T, class LoaderA, class LoaderB>
void launch_general_tile(const GeneralTaps& taps, const WeightsCall& call) {
  const GeneralProblem problem{problem_of<T>(call), taps};
  const int row_tiles = (problem.rows + T::rows - 1) / T::rows;
  const dim3 blocks(static_cast<unsigned>(row_tiles) * static_cast<unsigned>(problem.column_tiles),
                    static_cast<unsigned>(call.plan.splits));
  run_kernel(call, {blocks, kGemmThreads}, implicit_gemm_weights<T, LoaderA, LoaderB, GeneralProblem>,
             problem, call.plain, call.shifted, call.partial);
}

/// The splits suit either tile.
void launch_general(const GeneralTaps& taps, const WeightsCall& call) {
  const bool vectors = call.plan.rows % 4 == 0 && taps.channels % 4 == 0 && takes_vectors(call.plain) &&
                       takes_vectors(call.shifted);
  if (!vectors) {
    launch_general_tile<TallTile, PlainPixels<TallTile, 1>, GeneralScalars<TallTile>>(taps, call);
  } else if (call.plan.tile == TileName::tall) {
    launch_general_tile<TallTile, PlainPixels<TallTile, 4>, GeneralVectors<TallTile>>(taps, call);
  } else {
    launch_general_tile<MediumTile, PlainPixels<MediumTile, 4>, GeneralVectors<MediumTile>>(taps, call);
  }
}

void launch_plan(const WeightsCall& call) {
  switch (call.plan.tile) {
    case TileName::large:
      return launch_tile<LargeTile>(call);
    case TileName::medium:
      return launch_tile<MediumTile>(call);
    case TileName::small:
      return launch_tile<SmallTile>(call);
    case TileName::tall:
      return launch_tile<TallTile>(call);
    case TileName::slim:
      break;
  }
}

void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const WeightsPlan plan = plan_weights(s);
  const auto* x = call.operand<const float>(Name::input);
  const auto* dy = call.operand<const float>(Name::output_gradient);
  auto* partial = static_cast<float*>(call.workspace);
  if (!is_plain(s)) {
    const GeneralTaps taps = taps_of_input(s);
    launch_general(taps, {plan, taps, dy, x, partial, call.variant, call.stream});
  } else if (plan.swapped) {
    launch_plan({plan, taps_of(s, s.out_channels), x, dy, partial, call.variant, call.stream});
  } else {
    launch_plan({plan, taps_of(s, s.in_channels), dy, x, partial, call.variant, call.stream});
  }
  const auto elements = static_cast<int>(plan.rows * plan.columns);
  const Arrangement arrangement{plan.swapped, s.in_channels, s.out_channels,
                                s.kernel_height * s.kernel_width};
  run_kernel(
      call, "sum of the splits",
      {static_cast<unsigned>((elements + kSumElements - 1) / kSumElements), dim3(kSumElements, kSumGroups)},
      implicit_gemm_weights_sum, elements, plan.splits, arrangement, partial, Name::weights_gradient);
}

}  // namespace

Variant implicit_gemm_backward_weights() {
  return cuda_variant(
      Op::conv2d_backward_weights, "implicit_gemm", backward_weights,
      "A tiled matrix product over the pixels, split among blocks and added in a fixed order.",
      {.precisions = {core::Precision::fp32},
       .presets = {{"implicit_gemm", true}},
       .workspace_bytes = workspace,
       .refuses = refuses_large});
}

}  // namespace warpscope::ops::conv2d
