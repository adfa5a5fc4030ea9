#pragma once
// conv2d, variant `fused` in TF32, FP16 and BF16: the kernels of fused_mma.cuh. Over conv2d's `mma` they add
// windows (2x2 taps of the small image in place of 3x3 of the upsampled one), bias, ReLU, mask and pooling in
// the sums; and backward_input has its weights along k in memory, so that fragments of TF32 are loaded four
// at a time. TF32 is rounded in fewer instructions (fused_tf32.cuh).
//
// Tiles: 256x128, 128x128, 128x64, 64x64 and 128x16 as mma chooses them; channels that do not fill 16 bytes
// are gathered by elements on 128x128. Limits: tensors of at most 2e9 elements, at most 15x15 taps.
// Registers on sm_90, in 16 bits and in TF32: huge 242 and 224, large 241 and 226, medium 164 and 166, small
// 118 and 123, narrow 96 and 103, dense 252 and 230; none spill.
// Source: chain.h; those of mma_tile.cuh.

#include <type_traits>

#include "gpu/ops/conv2d/fused/general/fused.h"
#include "gpu/ops/conv2d/fused/general/fused_mma.cuh"
#include "gpu/ops/conv2d/fused/general/fused_tf32.cuh"
#include "gpu/ops/conv2d/implicit_gemm_launch.cuh"
#include "gpu/ops/conv2d/mma_plan.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::general {
namespace tensor {

using conv2d::tensor_cores::depth_of;

template <class Math, int kSide, class T>
using Layout =
    std::conditional_t<std::is_same_v<Math, mma::Tf32>, DepthTf32<kSide, T::depth_bytes, T::threads>,
                       conv2d::tensor_cores::AlongDepth<Math, kSide, T::depth_bytes, T::threads>>;

template <class Math>
struct ActivationsProblem {
  Target<Math> target;
  int column_tiles;
};

template <class T, class Math, bool kVectors>
__global__ void __launch_bounds__(T::threads, T::blocks)
    conv2d_fused_mma(const __grid_constant__ ActivationsProblem<Math> q,
                     const typename Math::Storage* __restrict__ in,
                     const typename Math::Storage* __restrict__ weights) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using LayoutA = Layout<Math, T::rows, T>;
  using LayoutB = Layout<Math, T::columns, T>;
  using LoaderA = std::conditional_t<kVectors, PixelVectors<Math, LayoutA>, PixelScalars<Math, LayoutA>>;
  using LoaderB = std::conditional_t<kVectors, conv2d::tensor_cores::FilterVectors<Math, LayoutB>,
                                     conv2d::tensor_cores::FilterScalars<Math, LayoutB>>;
  constexpr int kDepth = depth_of<T, Math>;

  const Window& window = q.target.window;
  const int rest = static_cast<int>(blockIdx.x) / q.column_tiles;
  const int parity = rest % window.parities;
  const int first_pixel = rest / window.parities * T::rows;
  const int first_filter = static_cast<int>(blockIdx.x) % q.column_tiles * T::columns;
  const int kernel = window.taps.kernel_height * window.taps.kernel_width;
  const int terms = kernel * window.taps.channels;
  const LoaderA a(window, parity, in, first_pixel);
  const LoaderB b(window.taps, weights + parity * q.target.filters * terms, q.target.filters, first_filter);
  Cursor cursor{kVectors && window.taps.channels % kDepth == 0};
  const auto fetch = [&](mma::SharedAddress a_tile, mma::SharedAddress b_tile) {
    a.fetch(window, cursor, a_tile);
    b.fetch(window.taps, cursor, b_tile);
    cursor.advance(kDepth, kernel);
  };
  const auto look = [](mma::SharedAddress, mma::SharedAddress) {};

  const WarpPlace at = conv2d::tensor_cores::warp_place<T>();
  Sums<T> sums;
  conv2d::tensor_cores::multiply<T, Math, LayoutA, LayoutB>(sums, mma::shared_address(shared),
                                                            (terms + kDepth - 1) / kDepth, at, fetch, look);
  finish<T, Math>(sums, shared, at, first_pixel, first_filter, parity, q.target);
#endif
}

template <class T, class Math, bool kVectors>
void launch_tile(const Activations& call) {
  using Storage = typename Math::Storage;
  constexpr int kPerChunk = kChunkBytes / static_cast<int>(sizeof(Storage));
  const int column_tiles = (call.filters + T::columns - 1) / T::columns;
  const int row_tiles = (call.window.taps.pixels + T::rows - 1) / T::rows;
  const bool vectors = call.filters % kPerChunk == 0 && conv2d::takes_vectors(call.out) &&
                       (call.mask == nullptr || conv2d::takes_vectors(call.mask));
  const ActivationsProblem<Math> problem{
      {call.window, call.filters, vectors, call.relu, static_cast<const Storage*>(call.bias),
       static_cast<const Storage*>(call.mask), static_cast<Storage*>(call.out), call.argmax},
      column_tiles};
  const unsigned blocks = static_cast<unsigned>(column_tiles) * static_cast<unsigned>(row_tiles) *
                          static_cast<unsigned>(call.window.parities);
  run_kernel(call, "products", {blocks, T::threads, T::shared_bytes}, conv2d_fused_mma<T, Math, kVectors>,
             problem, call.in, call.weights);
}

/// The launch in one precision; instantiated in a file of its own (fused_mma_<precision>.cu), so that they
/// compile side by side.
template <class Math>
void launch_math(const Activations& call) {
  using conv2d::tensor_cores::TileName;
  constexpr int kPerChunk = kChunkBytes / static_cast<int>(sizeof(typename Math::Storage));
  const bool vectors = call.window.taps.channels % kPerChunk == 0 && conv2d::takes_vectors(call.in) &&
                       conv2d::takes_vectors(call.weights);
  if (!vectors) return launch_tile<conv2d::tensor_cores::DenseTile, Math, false>(call);
  const std::int64_t pixels = std::int64_t{call.window.taps.pixels} * call.window.parities;
  switch (conv2d::tensor_cores::choose_tile(pixels, call.filters, conv2d::tensor_cores::current_device())) {
    case TileName::huge:
      return launch_tile<conv2d::tensor_cores::HugeTile, Math, true>(call);
    case TileName::large:
      return launch_tile<conv2d::tensor_cores::LargeTile, Math, true>(call);
    case TileName::medium:
      return launch_tile<conv2d::tensor_cores::MediumTile, Math, true>(call);
    case TileName::small:
      return launch_tile<conv2d::tensor_cores::SmallTile, Math, true>(call);
    case TileName::narrow:
      return launch_tile<conv2d::tensor_cores::NarrowTile, Math, true>(call);
  }
}

}  // namespace tensor

}  // namespace warpscope::ops::conv2d::fused::general
