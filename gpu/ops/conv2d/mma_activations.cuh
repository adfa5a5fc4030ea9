#pragma once
// The kernel behind mma forward and backward_input, one computation on different tensors:
//
//   out[pixel, j] = sum over taps (r, s) and channels c of in[pixel shifted by (r, s), c] * weight(r, s, c,
//   j)
//
//   forward         in = x,  out = y,  c = input channel,  j = output channel, weight = w[j, r, s, c]
//   backward_input  in = dy, out = dx, c = output channel, j = input channel,  weight = w[c, R-1-r, S-1-s, j]
//
// A[k][pixel] = the shifted pixels, B[k][j] = the weights, k = (taps, c). `AnyTaps` is Taps for plain
// convolutions and GeneralTaps for all others, which are compiled apart (conv2d_mma_general.cu).

#include <type_traits>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/implicit_gemm_launch.cuh"
#include "gpu/ops/conv2d/mma_general.cuh"
#include "gpu/ops/conv2d/mma_loaders.cuh"
#include "gpu/ops/conv2d/mma_plan.h"
#include "gpu/ops/conv2d/mma_tile.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d::tensor_cores {

/// How the operands are read.
enum class Reads { vectors, vectors_and_scalars, scalars };

/// One call, of the tensors by their bytes.
template <class AnyTaps>
struct ActivationsCall {
  AnyTaps taps;  ///< of the tensor that the taps read
  int filters;
  const void* in;
  const void* weights;
  const void* bias;  ///< none if nullptr
  bool relu;
  void* out;
  const Variant* variant;
  core::Stream* stream;
};

template <class AnyTaps>
struct ActivationsProblem {
  AnyTaps taps;
  int filters;
  int column_tiles;
  bool vectors_out;
  bool relu;
};

template <class T, class Math, bool kBackward, Reads kReads, class AnyTaps>
__global__ void __launch_bounds__(T::threads, T::blocks)
    mma_activations(const __grid_constant__ ActivationsProblem<AnyTaps> q,
                    const typename Math::Storage* __restrict__ in,
                    const typename Math::Storage* __restrict__ weights,
                    const typename Math::Storage* __restrict__ bias,
                    typename Math::Storage* __restrict__ out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using LayoutA = AlongDepth<Math, T::rows, T::depth_bytes, T::threads>;
  using LayoutB = std::conditional_t<kBackward, AlongSide<Math, T::columns, T::depth_bytes, T::threads>,
                                     AlongDepth<Math, T::columns, T::depth_bytes, T::threads>>;
  using LoaderA = std::conditional_t<kReads == Reads::scalars,
                                     typename Loaders<AnyTaps>::template WindowScalars<Math, LayoutA>,
                                     typename Loaders<AnyTaps>::template WindowVectors<Math, LayoutA>>;
  using Vectors = std::conditional_t<kBackward, TurnedVectors<Math, LayoutB>, FilterVectors<Math, LayoutB>>;
  using Scalars = std::conditional_t<kBackward, TurnedScalars<Math, LayoutB>, FilterScalars<Math, LayoutB>>;
  using LoaderB = std::conditional_t<kReads == Reads::vectors, Vectors, Scalars>;
  constexpr int kDepth = depth_of<T, Math>;

  const int first_pixel = static_cast<int>(blockIdx.x) / q.column_tiles * T::rows;
  const int first_filter = static_cast<int>(blockIdx.x) % q.column_tiles * T::columns;
  const LoaderA a(q.taps, in, first_pixel);
  const LoaderB b(q.taps, weights, q.filters, first_filter);
  const int kernel = q.taps.kernel_height * q.taps.kernel_width;
  Cursor cursor{kReads != Reads::scalars && q.taps.channels % kDepth == 0};
  const auto fetch = [&](mma::SharedAddress a_tile, mma::SharedAddress b_tile) {
    a.fetch(q.taps, cursor, a_tile);
    b.fetch(q.taps, cursor, b_tile);
    cursor.advance(kDepth, kernel);
  };
  const auto look = [](mma::SharedAddress, mma::SharedAddress) {};

  const WarpPlace at = warp_place<T>();
  Sums<T> sums;
  multiply<T, Math, LayoutA, LayoutB>(sums, mma::shared_address(shared),
                                      (kernel * q.taps.channels + kDepth - 1) / kDepth, at, fetch, look);
  finish<T, Math>(sums, shared, at, first_pixel, first_filter,
                  Target<Math>{out, q.taps.pixels, q.filters, q.vectors_out, bias, q.relu});
#endif
}

template <class T, class Math, bool kBackward, Reads kReads, class AnyTaps>
void launch_tile(const ActivationsCall<AnyTaps>& call) {
  using Storage = typename Math::Storage;
  constexpr int kPerChunk = kChunkBytes / static_cast<int>(sizeof(Storage));
  const int column_tiles = (call.filters + T::columns - 1) / T::columns;
  const int row_tiles = (call.taps.pixels + T::rows - 1) / T::rows;
  const ActivationsProblem<AnyTaps> problem{call.taps, call.filters, column_tiles,
                                            call.filters % kPerChunk == 0 && takes_vectors(call.out),
                                            call.relu};
  const unsigned blocks = static_cast<unsigned>(column_tiles) * static_cast<unsigned>(row_tiles);
  run_kernel(call, {blocks, T::threads, T::shared_bytes},
             mma_activations<T, Math, kBackward, kReads, AnyTaps>, problem, call.in, call.weights, call.bias,
             call.out);
}

/// How a call can read: one that reads everything 16 bytes at a time can take any tile.
template <class Math, bool kBackward, class AnyTaps>
Reads reads_of(const ActivationsCall<AnyTaps>& call) {
  constexpr int kPerChunk = kChunkBytes / static_cast<int>(sizeof(typename Math::Storage));
  const bool chunks_in = call.taps.channels % kPerChunk == 0 && takes_vectors(call.in);
  const bool chunks_out = (!kBackward || call.filters % kPerChunk == 0) && takes_vectors(call.weights);
  if (chunks_in && chunks_out) return Reads::vectors;
  return kBackward && chunks_in ? Reads::vectors_and_scalars : Reads::scalars;
}

template <class Math, bool kBackward, class AnyTaps>
void launch_math(const ActivationsCall<AnyTaps>& call) {
  constexpr bool kEachTile = std::is_same_v<AnyTaps, Taps>;  // else fewer, so that they are compiled sooner
  const Reads reads = reads_of<Math, kBackward>(call);
  if constexpr (kBackward) {
    if (reads == Reads::vectors_and_scalars) {
      return launch_tile<NarrowTile, Math, kBackward, Reads::vectors_and_scalars>(call);
    }
  }
  if (reads == Reads::scalars) return launch_tile<DenseTile, Math, kBackward, Reads::scalars>(call);
  switch (choose_tile(call.taps.pixels, call.filters, current_device())) {
    case TileName::huge:
      if constexpr (kEachTile) return launch_tile<HugeTile, Math, kBackward, Reads::vectors>(call);
      [[fallthrough]];
    case TileName::large:
      return launch_tile<LargeTile, Math, kBackward, Reads::vectors>(call);
    case TileName::medium:
      if constexpr (kEachTile) return launch_tile<MediumTile, Math, kBackward, Reads::vectors>(call);
      [[fallthrough]];
    case TileName::small:
      return launch_tile<SmallTile, Math, kBackward, Reads::vectors>(call);
    case TileName::narrow:
      return launch_tile<NarrowTile, Math, kBackward, Reads::vectors>(call);
  }
}

template <bool kBackward, class AnyTaps>
void launch_activations(const ActivationsCall<AnyTaps>& call, core::Precision precision) {
  mma::with_math(precision, [&]<class Math>(Math) { launch_math<Math, kBackward>(call); });
}

/// conv2d.forward of any convolution with what follows it; compiled once, in conv2d_mma_forward.cu.
void launch_forward(const OpCall& call, const void* bias, bool relu);

/// Those that are not plain; compiled in conv2d_mma_general.cu.
void launch_general_forward(const ActivationsCall<GeneralTaps>& call, core::Precision precision);
void launch_general_backward_input(const ActivationsCall<GeneralTaps>& call, core::Precision precision);

}  // namespace warpscope::ops::conv2d::tensor_cores
