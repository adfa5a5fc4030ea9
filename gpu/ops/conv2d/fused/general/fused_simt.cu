// conv2d, variant `fused` in FP32: the launches of fused_simt.cuh. Over conv2d's `implicit_gemm` they add
// windows (2x2 taps of the small image in place of 3x3 of the upsampled one), bias, ReLU, mask and pooling in
// the sums.
//
// Tiles: 128x128, 128x64, 64x64 or 64x32 as implicit_gemm chooses them; at most four filters without mask or
// pooling go to a kernel of the kind of implicit_gemm_narrow.cuh. Channels in fours are read 16 bytes at a
// time, others 4.
// Registers on sm_90: tiles 124 to 128, of which 128x64 and 64x32 with vectors and without pooling spill 32
// and 40 bytes; narrow 70 to 128, of which three filters with vectors spill 4 bytes. Shared memory: as
// implicit_gemm_tile.cuh.
// Source: chain.h; implicit_gemm_tile.cuh; implicit_gemm_narrow.cuh.

#include "gpu/ops/conv2d/fused/general/fused.h"
#include "gpu/ops/conv2d/fused/general/fused_simt.cuh"
#include "gpu/ops/conv2d/implicit_gemm_launch.cuh"
#include "gpu/ops/conv2d/implicit_gemm_narrow.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::general {
namespace simt {
namespace {

struct ActivationsProblem {
  conv2d::ActivationsProblem product;  ///< as the loaders of the weights want it
  Target target;
};

template <class T, bool kPooled, class LoaderA, class LoaderB, class Cursor>
__device__ __forceinline__ void activations_tile(const ActivationsProblem& q, const float* in,
                                                 const float* weights, Cursor cursor, int stages) {
  __shared__ __align__(16) float shared[2 * T::stage];
  const Window& window = q.target.window;
  const int column_tile = static_cast<int>(blockIdx.x) % q.product.column_tiles;
  const int rest = static_cast<int>(blockIdx.x) / q.product.column_tiles;
  const int parity = rest % window.parities;
  const int first_pixel = rest / window.parities * T::rows;
  const int first_filter = column_tile * T::columns;
  const int per_filter = window.taps.kernel_height * window.taps.kernel_width * window.taps.channels;
  const conv2d::TilePlace place = conv2d::place_of_thread<T>();
  LoaderA a(window, parity, in, first_pixel);
  LoaderB b(q.product, weights + parity * q.product.filters * per_filter, first_filter);
  float sum[8][8];
  conv2d::multiply<T>(sum, a, b, cursor, stages, shared, place);
  finish<T, kPooled>(sum, shared, place, first_pixel, first_filter, parity, q.target);
}

template <class T, bool kPooled>
__global__ void __launch_bounds__(kGemmThreads, 2)
    fused_simt_vectors(const __grid_constant__ ActivationsProblem q, const float* __restrict__ in,
                       const float* __restrict__ weights) {
  const conv2d::Taps& taps = q.product.taps;
  const int stages = (taps.channels + T::depth - 1) / T::depth * taps.kernel_height * taps.kernel_width;
  activations_tile<T, kPooled, PixelVectors<T>, conv2d::FilterVectors<T>>(
      q, in, weights, conv2d::BlockCursor<T::depth>{taps.kernel_height, taps.kernel_width}, stages);
}

template <class T, bool kPooled>
__global__ void __launch_bounds__(kGemmThreads, 2)
    fused_simt_scalars(const __grid_constant__ ActivationsProblem q, const float* __restrict__ in,
                       const float* __restrict__ weights) {
  const conv2d::Taps& taps = q.product.taps;
  const int terms = taps.channels * taps.kernel_height * taps.kernel_width;
  activations_tile<T, kPooled, PixelScalars<T>, conv2d::FilterScalars<T>>(
      q, in, weights, conv2d::DenseCursor<T::depth>{}, (terms + T::depth - 1) / T::depth);
}

/// At most kNarrowFilters filters: a warp makes all filters of 16 pixels, its threads share the channels, and
/// shuffles add what they have. As conv2d::implicit_gemm_narrow, with windows of stride 1. Channels are a
/// multiple of kVector.
template <int kFilters, int kVector>
__global__ void __launch_bounds__(kGemmThreads, 2)
    fused_simt_narrow(const __grid_constant__ Target to, const float* __restrict__ in,
                      const float* __restrict__ all_weights) {
  using conv2d::kNarrowPixels;
  const conv2d::Taps& taps = to.window.taps;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int parity = static_cast<int>(blockIdx.x) % to.window.parities;
  const int first =
      (static_cast<int>(blockIdx.x) / to.window.parities * conv2d::kGemmWarps + warp) * kNarrowPixels;
  if (first >= taps.pixels) return;
  // Thread i, and i + 16, watch over the borders for pixel i. Windows of neighbours are neighbours.
  const Corner corner(to.window, parity, first + lane % kNarrowPixels);
  const int first_element = corner.element - lane % kNarrowPixels * taps.channels;
  const int per_filter = taps.kernel_height * taps.kernel_width * taps.channels;
  const float* weights = all_weights + parity * kFilters * per_filter;
  float sum[kFilters][kNarrowPixels] = {};
  for (int block = 0; block < taps.channels; block += 32 * kVector) {
    const int channel = block + lane * kVector;
    const bool mine = channel < taps.channels;
    const float* weight = weights + channel;
    for (int r = 0; r < taps.kernel_height; ++r) {
      for (int s = 0; s < taps.kernel_width; ++s, weight += taps.channels) {
        const unsigned inside = __ballot_sync(0xffffffffu, corner.inside(to.window, r, s));
        conv2d::Channels<kVector> w[kFilters];
#pragma unroll
        for (int f = 0; f < kFilters; ++f) {
          w[f].clear();
          if (mine) w[f].read(weight + f * per_filter);
        }
        // Unsigned: it may run past either end of the tensor, where nothing is read.
        const unsigned from = static_cast<unsigned>(first_element + to.window.shift(r, s) + channel);
#pragma unroll
        for (int i = 0; i < kNarrowPixels; ++i) {
          conv2d::Channels<kVector> x;
          x.clear();
          if (mine && (inside >> i & 1u) != 0) x.read(in + (from + i * static_cast<unsigned>(taps.channels)));
#pragma unroll
          for (int f = 0; f < kFilters; ++f) {
#pragma unroll
            for (int j = 0; j < kVector; ++j) sum[f][i] += x.value[j] * w[f].value[j];
          }
        }
      }
    }
  }
  const int pixel = first + lane / 2;
  const bool writes = lane % 2 == 0 && pixel < taps.pixels;
  const int out_pixel = writes ? to.window.out_pixel(pixel, parity) : 0;
#pragma unroll
  for (int f = 0; f < kFilters; ++f) {
    const float total = conv2d::sum_over_warp(sum[f]);
    if (writes) to.out[static_cast<unsigned>(out_pixel * kFilters + f)] = to.finished(total, f);
  }
}

struct WeightsProblem {
  Window window;
  int rows;
  int columns;
  int split_pixels;
  int column_tiles;
  std::int64_t split_elements;
};

template <class T, class LoaderA, class LoaderB>
__global__ void __launch_bounds__(kGemmThreads, 2)
    fused_simt_weights(const __grid_constant__ WeightsProblem q, const float* __restrict__ plain,
                       const float* __restrict__ shifted, float* __restrict__ partial) {
  __shared__ __align__(16) float shared[2 * T::stage];
  const int first_row = static_cast<int>(blockIdx.x) / q.column_tiles * T::rows;
  const int first_column = static_cast<int>(blockIdx.x) % q.column_tiles * T::columns;
  const int begin = static_cast<int>(blockIdx.y) * q.split_pixels;
  const int end = min(q.window.taps.pixels, begin + q.split_pixels);
  const conv2d::TilePlace place = conv2d::place_of_thread<T>();
  LoaderA a(q.rows, plain, first_row, end);
  LoaderB b(q.window, q.columns, shifted, first_column, end);
  float sum[8][8];
  conv2d::multiply<T>(sum, a, b, PixelCursor<T::depth>{begin}, (end - begin + T::depth - 1) / T::depth,
                      shared, place);
  conv2d::finish<T>(sum, shared, place, first_row, first_column,
                    {partial + blockIdx.y * q.split_elements, q.rows, q.columns, q.columns % 4 == 0});
}

// ---- launches ----

Target target_of(const Activations& call) {
  const bool vectors = call.filters % 4 == 0 && conv2d::takes_vectors(call.out) &&
                       (call.mask == nullptr || conv2d::takes_vectors(call.mask));
  return {call.window,
          call.filters,
          vectors,
          call.relu,
          static_cast<const float*>(call.bias),
          static_cast<const float*>(call.mask),
          static_cast<float*>(call.out),
          call.argmax};
}

bool reads_vectors(const Activations& call) {
  return call.window.taps.channels % 4 == 0 && conv2d::takes_vectors(call.in) &&
         conv2d::takes_vectors(call.weights);
}

template <class T, bool kPooled>
void launch_tile(const Activations& call) {
  const conv2d::Taps& taps = call.window.taps;
  const int column_tiles = (call.filters + T::columns - 1) / T::columns;
  const int row_tiles = (taps.pixels + T::rows - 1) / T::rows;
  const ActivationsProblem problem{{taps, call.filters, column_tiles, false}, target_of(call)};
  const unsigned blocks = static_cast<unsigned>(column_tiles) * static_cast<unsigned>(row_tiles) *
                          static_cast<unsigned>(call.window.parities);
  // As conv2d::launch_tile: what blocks of channels hang over the end is lost.
  const bool fits_blocks = 4 * ((taps.channels + T::depth - 1) / T::depth * T::depth) <= 5 * taps.channels;
  const bool vectors = fits_blocks && reads_vectors(call);
  const auto kernel = vectors ? fused_simt_vectors<T, kPooled> : fused_simt_scalars<T, kPooled>;
  run_kernel(call, "products", {blocks, kGemmThreads}, kernel, problem, call.in, call.weights);
}

template <bool kPooled>
void launch_activations(const Activations& call) {
  const std::int64_t pixels = std::int64_t{call.window.taps.pixels} * call.window.parities;
  switch (conv2d::choose_tile(pixels, call.filters)) {
    case conv2d::TileName::large:
      return launch_tile<conv2d::LargeTile, kPooled>(call);
    case conv2d::TileName::medium:
      return launch_tile<conv2d::MediumTile, kPooled>(call);
    case conv2d::TileName::small:
      return launch_tile<conv2d::SmallTile, kPooled>(call);
    case conv2d::TileName::slim:
    case conv2d::TileName::tall:
      return launch_tile<conv2d::SlimTile, kPooled>(call);
  }
}

template <int kFilters>
void launch_narrow(const Activations& call) {
  const auto warps = static_cast<unsigned>((call.window.taps.pixels + conv2d::kNarrowBlockPixels - 1) /
                                           conv2d::kNarrowBlockPixels);
  const unsigned blocks = warps * static_cast<unsigned>(call.window.parities);
  const Target target = target_of(call);
  const auto kernel = reads_vectors(call) ? fused_simt_narrow<kFilters, 4> : fused_simt_narrow<kFilters, 1>;
  run_kernel(call, "products", {blocks, kGemmThreads}, kernel, target, call.in, call.weights);
}

template <class T, class LoaderA, class LoaderB>
void launch_weights(const Weights& call) {
  const WeightsPlan& plan = call.plan;
  const auto rows = static_cast<int>(plan.rows);
  const auto columns = static_cast<int>(plan.columns);
  const int row_tiles = (rows + T::rows - 1) / T::rows;
  const int column_tiles = (columns + T::columns - 1) / T::columns;
  const WeightsProblem problem{
      call.window, rows, columns, static_cast<int>(plan.split_pixels), column_tiles, plan.split_elements()};
  const dim3 blocks(static_cast<unsigned>(row_tiles) * static_cast<unsigned>(column_tiles),
                    static_cast<unsigned>(plan.splits));
  run_kernel(call, "products", {blocks, kGemmThreads}, fused_simt_weights<T, LoaderA, LoaderB>, problem,
             call.input, call.gradient, call.partial);
}

template <class T>
void launch_weights_vectors(const Weights& call) {
  launch_weights<T, PlainPixels<T, 4>, ShiftedVectors<T>>(call);
}

void launch_weights_plan(const Weights& call) {
  const bool plain = conv2d::takes_vectors(call.input);
  const bool both = plain && conv2d::takes_vectors(call.gradient);
  switch (call.plan.kernel) {
    case WeightsKernel::wide:
    case WeightsKernel::large:
      if (both) return launch_weights_vectors<conv2d::LargeTile>(call);
      break;
    case WeightsKernel::medium:
      if (both) return launch_weights_vectors<conv2d::MediumTile>(call);
      break;
    case WeightsKernel::small:
      if (both) return launch_weights_vectors<conv2d::SmallTile>(call);
      break;
    case WeightsKernel::tall:
      using Tall = conv2d::TallTile;
      if (plain) return launch_weights<Tall, PlainPixels<Tall, 4>, ShiftedScalars<Tall>>(call);
      break;
    case WeightsKernel::scalars:
      break;
  }
  using Small = conv2d::SmallTile;
  launch_weights<Small, PlainPixels<Small, 1>, ShiftedScalars<Small>>(call);
}

}  // namespace
}  // namespace simt

void activations_simt(const Activations& call) {
  const bool narrow =
      call.filters <= conv2d::kNarrowFilters && call.mask == nullptr && call.window.stride == 1;
  if (!narrow) {
    call.window.pooled ? simt::launch_activations<true>(call) : simt::launch_activations<false>(call);
  } else if (call.filters == 1) {
    simt::launch_narrow<1>(call);
  } else if (call.filters == 2) {
    simt::launch_narrow<2>(call);
  } else if (call.filters == 3) {
    simt::launch_narrow<3>(call);
  } else {
    simt::launch_narrow<4>(call);
  }
}

void weights_simt(const Weights& call) {
  simt::launch_weights_plan(call);
}

}  // namespace warpscope::ops::conv2d::fused::general
