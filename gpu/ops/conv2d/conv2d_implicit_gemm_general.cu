// conv2d.forward and backward_input, variant `implicit_gemm`, for convolutions that are not plain (conv2d.cpp):
// stride, dilation, no padding. The products are those of plain ones (implicit_gemm_activations.cuh); only
// what the taps read is found by general_taps.cuh.
//
// Tiles: 128x64 and 64x32. backward_input multiplies zeros where a stride leaves out taps: of a stride of 2
// along both axes three of four. 128 registers, no spills.
// Source: those of conv2d_implicit_gemm_forward.cu; V. Dumoulin, F. Visin, "A guide to convolution arithmetic
// for deep learning" (2016), sections 4.5 and 5.1, for strides and dilation.

#include <type_traits>

#include "gpu/ops/conv2d/general_taps.cuh"
#include "gpu/ops/conv2d/implicit_gemm_general.h"
#include "gpu/ops/conv2d/implicit_gemm_launch.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d {
namespace {

/// The filters' loaders take it as the problem of a plain convolution, of which they look only at the kernel.
struct GeneralProblem : ActivationsProblem {
  GeneralTaps general;
};

/// What the calling thread's row of the tile reads.
struct GeneralWindow {
  GeneralPlace place;
  unsigned first;
  bool exists;

  __device__ __forceinline__ GeneralWindow(const GeneralTaps& taps, int pixel)
      : place(taps, pixel), first(first_element_of(taps, place)), exists(pixel < taps.pixels) {}
  __device__ __forceinline__ bool inside(const GeneralTaps& taps, int r, int s) const {
    return exists && taps.reads(place.row + r * taps.dilation, taps.rows) &&
           taps.reads(place.column + s * taps.dilation, taps.columns);
  }
  /// The element of what is inside.
  __device__ __forceinline__ unsigned element(const GeneralTaps& taps, int r, int s, int channel) const {
    return first + static_cast<unsigned>(taps.shift(r, s) * taps.channels + channel);
  }
};

/// As PixelVectors.
template <class T>
struct GeneralVectors : TransposedVectors<T::rows, T::depth> {
  const GeneralTaps& taps;
  const float* in;
  GeneralWindow window;

  __device__ __forceinline__ GeneralVectors(const GeneralTaps& of, const float* from, int first_pixel)
      : taps(of), in(from), window(of, first_pixel + this->side) {}
  __device__ __forceinline__ void fetch(const BlockCursor<T::depth>& at) {
    const bool inside = window.inside(taps, at.r, at.s);
    const unsigned element = inside ? window.element(taps, at.r, at.s, at.channel + this->k) : 0u;
    TransposedVectors<T::rows, T::depth>::fetch(in + element, inside, taps.channels - at.channel);
  }
};

/// As PixelScalars.
template <class T>
struct GeneralScalars : TransposedScalars<T::rows, T::depth> {
  const GeneralTaps& taps;
  const float* in;
  GeneralWindow window;

  __device__ __forceinline__ GeneralScalars(const GeneralTaps& of, const float* from, int first_pixel)
      : taps(of), in(from), window(of, first_pixel + this->side) {}
  __device__ __forceinline__ void fetch(const DenseCursor<T::depth>& at) {
    DensePlace k(taps, at.k + this->k);
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const bool inside = k.r < taps.kernel_height && window.inside(taps, k.r, k.s);
      this->value[i] = inside ? in[window.element(taps, k.r, k.s, k.channel)] : 0.0f;
      k.advance(taps);
    }
  }
};

template <class T, bool kBackward, bool kVectors>
__global__ void __launch_bounds__(kGemmThreads, 2)
    implicit_gemm_general(const GeneralProblem q, const float* __restrict__ in,
                          const float* __restrict__ weights, float* __restrict__ out) {
  using VectorsB = std::conditional_t<kBackward, TurnedVectors<T>, FilterVectors<T>>;
  using ScalarsB = std::conditional_t<kBackward, TurnedScalars<T>, FilterScalars<T>>;
  __shared__ __align__(16) float shared[2 * T::stage];
  const int first_pixel = static_cast<int>(blockIdx.x) / q.column_tiles * T::rows;
  const int first_filter = static_cast<int>(blockIdx.x) % q.column_tiles * T::columns;
  const int kernel = q.taps.kernel_height * q.taps.kernel_width;
  const TilePlace place = place_of_thread<T>();
  std::conditional_t<kVectors, GeneralVectors<T>, GeneralScalars<T>> a(q.general, in, first_pixel);
  std::conditional_t<kVectors, VectorsB, ScalarsB> b(q, weights, first_filter);
  float sum[8][8];
  if constexpr (kVectors) {
    const BlockCursor<T::depth> cursor{q.taps.kernel_height, q.taps.kernel_width};
    multiply<T>(sum, a, b, cursor, (q.taps.channels + T::depth - 1) / T::depth * kernel, shared, place);
  } else {
    const int terms = q.taps.channels * kernel;
    multiply<T>(sum, a, b, DenseCursor<T::depth>{}, (terms + T::depth - 1) / T::depth, shared, place);
  }
  finish<T>(sum, shared, place, first_pixel, first_filter, {out, q.taps.pixels, q.filters, q.vectors_out});
}

template <class T, bool kBackward>
void launch_general_tile(const GeneralTaps& taps, const ActivationsCall& call) {
  const int column_tiles = (call.filters + T::columns - 1) / T::columns;
  const int row_tiles = (taps.pixels + T::rows - 1) / T::rows;
  const GeneralProblem problem{
      {taps, call.filters, column_tiles, call.filters % 4 == 0 && takes_vectors(call.out)}, taps};
  const unsigned blocks = static_cast<unsigned>(column_tiles) * static_cast<unsigned>(row_tiles);
  const auto kernel = reads_vectors<T, kBackward>(call) ? implicit_gemm_general<T, kBackward, true>
                                                        : implicit_gemm_general<T, kBackward, false>;
  run_kernel(call, {blocks, kGemmThreads}, kernel, problem, call.in, call.weights, call.out);
}

template <bool kBackward>
void launch_general(const GeneralTaps& taps, const ActivationsCall& call) {
  switch (choose_tile(taps.pixels, call.filters)) {
    case TileName::large:
    case TileName::medium:
      return launch_general_tile<MediumTile, kBackward>(taps, call);
    default:
      return launch_general_tile<SlimTile, kBackward>(taps, call);
  }
}

}  // namespace

void launch_general_forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const GeneralTaps taps = taps_of_input(s);
  launch_general<false>(taps, {taps, s.out_channels, call.operand<const float>(Name::input),
                               call.operand<const float>(Name::weights), call.operand<float>(Name::output),
                               call.variant, call.stream});
}

void launch_general_backward_input(const OpCall& call) {
  const OpShape& s = call.shape;
  const GeneralTaps taps = taps_of_output(s);
  launch_general<true>(taps, {taps, s.in_channels, call.operand<const float>(Name::output_gradient),
                              call.operand<const float>(Name::weights),
                              call.operand<float>(Name::input_gradient), call.variant, call.stream});
}

}  // namespace warpscope::ops::conv2d
