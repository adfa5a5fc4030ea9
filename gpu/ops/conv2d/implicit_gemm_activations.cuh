#pragma once
// The kernel behind implicit_gemm forward and backward_input, which are one computation on different tensors:
//
//   out[pixel, j] = sum over taps (r, s) and channels c of in[pixel shifted by (r, s), c] * weight(r, s, c,
//   j)
//
//   forward         in = x,  out = y,  c = input channel,  j = output channel, weight = w[j, r, s, c]
//   backward_input  in = dy, out = dx, c = output channel, j = input channel,  weight = w[c, R-1-r, S-1-s, j]
//
// As a matrix product: A[k][pixel] = the shifted pixels, B[k][j] = the weights, k = (taps, c).

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/implicit_gemm_loaders.cuh"
#include "gpu/ops/conv2d/implicit_gemm_tile.cuh"

namespace warpscope::ops::conv2d {

/// One call: the tensor that the taps read, the channels of the result, and the tiles of the result along
/// them.
struct ActivationsProblem {
  Taps taps;
  int filters;
  int column_tiles;
  bool vectors_out;
};

/// A from a tensor whose channels come in fours.
template <class T>
struct PixelVectors : TransposedVectors<T::rows, T::depth> {
  const Taps& taps;
  PixelPlace place;
  const float* from;

  __device__ __forceinline__ PixelVectors(const Taps& of, const float* in, int first_pixel)
      : taps(of),
        place(of, first_pixel + this->side),
        from(in + (first_pixel + this->side) * of.channels + this->k) {}
  __device__ __forceinline__ void fetch(const BlockCursor<T::depth>& at) {
    TransposedVectors<T::rows, T::depth>::fetch(from + (taps.shift(at.r, at.s) * taps.channels + at.channel),
                                                taps.inside(place.row, place.column, at.r, at.s),
                                                taps.channels - at.channel);
  }
};

/// A from a tensor with any number of channels.
template <class T>
struct PixelScalars : TransposedScalars<T::rows, T::depth> {
  const Taps& taps;
  PixelPlace place;
  const float* in;
  int offset;

  __device__ __forceinline__ PixelScalars(const Taps& of, const float* from, int first_pixel)
      : taps(of),
        place(of, first_pixel + this->side),
        in(from),
        offset((first_pixel + this->side) * of.channels) {}
  __device__ __forceinline__ void fetch(const DenseCursor<T::depth>& at) {
    DensePlace k(taps, at.k + this->k);
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const bool inside = k.r < taps.kernel_height && taps.inside(place.row, place.column, k.r, k.s);
      const int element = offset + taps.shift(k.r, k.s) * taps.channels + k.channel;
      this->value[i] = inside ? in[static_cast<unsigned>(element)] : 0.0f;
      k.advance(taps);
    }
  }
};

/// B in forward, channels in fours: a filter's weights are contiguous in k.
template <class T>
struct FilterVectors : TransposedVectors<T::columns, T::depth> {
  const Taps& taps;
  bool exists;
  const float* from;

  __device__ __forceinline__ FilterVectors(const ActivationsProblem& q, const float* weights,
                                           int first_filter)
      : taps(q.taps),
        exists(first_filter + this->side < q.filters),
        from(weights +
             (first_filter + this->side) * (taps.kernel_height * taps.kernel_width * taps.channels) +
             this->k) {}
  __device__ __forceinline__ void fetch(const BlockCursor<T::depth>& at) {
    TransposedVectors<T::columns, T::depth>::fetch(
        from + ((at.r * taps.kernel_width + at.s) * taps.channels + at.channel), exists,
        taps.channels - at.channel);
  }
};

/// B in forward, any number of channels.
template <class T>
struct FilterScalars : TransposedScalars<T::columns, T::depth> {
  int terms;
  bool exists;
  const float* from;

  __device__ __forceinline__ FilterScalars(const ActivationsProblem& q, const float* weights,
                                           int first_filter)
      : terms(q.taps.kernel_height * q.taps.kernel_width * q.taps.channels),
        exists(first_filter + this->side < q.filters),
        from(weights + (first_filter + this->side) * terms + this->k) {}
  __device__ __forceinline__ void fetch(const DenseCursor<T::depth>& at) {
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      this->value[i] = exists && at.k + this->k + i < terms ? from[at.k + i] : 0.0f;
    }
  }
};

/// B in backward_input, channels of both tensors in fours: the weights of one tap and channel are contiguous
/// in j. The taps are walked backwards, which turns the kernel round.
template <class T>
struct TurnedVectors : Rows<T::columns, T::depth, 4> {
  const Taps& taps;
  int filters;
  bool exists;
  const float* from;

  __device__ __forceinline__ TurnedVectors(const ActivationsProblem& q, const float* weights,
                                           int first_filter)
      : taps(q.taps), filters(q.filters), exists(first_filter + this->side < filters) {
    const int last_tap = taps.kernel_height * taps.kernel_width - 1;
    from = weights + this->k * (last_tap + 1) * filters + last_tap * filters + first_filter + this->side;
  }
  __device__ __forceinline__ void fetch(const BlockCursor<T::depth>& at) {
    const int per_channel = taps.kernel_height * taps.kernel_width * filters;
    const float* here = from + (at.channel * per_channel - (at.r * taps.kernel_width + at.s) * filters);
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      this->clear_one(i);
      if (exists && at.channel + this->k + i * this->step < taps.channels) {
        this->fetch_one(i, here + i * this->step * per_channel);
      }
    }
  }
};

/// B in backward_input, any number of channels.
template <class T>
struct TurnedScalars : TransposedScalars<T::columns, T::depth> {
  const Taps& taps;
  int filters;
  bool exists;
  const float* from;

  __device__ __forceinline__ TurnedScalars(const ActivationsProblem& q, const float* weights,
                                           int first_filter)
      : taps(q.taps),
        filters(q.filters),
        exists(first_filter + this->side < filters),
        from(weights + first_filter + this->side) {}
  __device__ __forceinline__ void fetch(const DenseCursor<T::depth>& at) {
    const int kernel = taps.kernel_height * taps.kernel_width;
    DensePlace k(taps, at.k + this->k);
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const int turned = kernel - 1 - (k.r * taps.kernel_width + k.s);
      const bool inside = exists && turned >= 0;
      this->value[i] = inside ? from[(k.channel * kernel + turned) * filters] : 0.0f;
      k.advance(taps);
    }
  }
};

template <class T, class LoaderA, class LoaderB, class Cursor>
__device__ __forceinline__ void activations_tile(const ActivationsProblem& q, const float* in,
                                                 const float* weights, float* out, Cursor cursor,
                                                 int stages) {
  __shared__ __align__(16) float shared[2 * T::stage];
  const int first_pixel = static_cast<int>(blockIdx.x) / q.column_tiles * T::rows;
  const int first_filter = static_cast<int>(blockIdx.x) % q.column_tiles * T::columns;
  const TilePlace place = place_of_thread<T>();
  LoaderA a(q.taps, in, first_pixel);
  LoaderB b(q, weights, first_filter);
  float sum[8][8];
  multiply<T>(sum, a, b, cursor, stages, shared, place);
  finish<T>(sum, shared, place, first_pixel, first_filter, {out, q.taps.pixels, q.filters, q.vectors_out});
}

/// 16-byte reads; blocks of channels, each with all its taps.
template <class T, bool kBackward>
__global__ void __launch_bounds__(kGemmThreads, 2)
    implicit_gemm_vectors(const ActivationsProblem q, const float* __restrict__ in,
                          const float* __restrict__ weights, float* __restrict__ out) {
  using LoaderB = std::conditional_t<kBackward, TurnedVectors<T>, FilterVectors<T>>;
  const int stages = (q.taps.channels + T::depth - 1) / T::depth * q.taps.kernel_height * q.taps.kernel_width;
  activations_tile<T, PixelVectors<T>, LoaderB>(
      q, in, weights, out, BlockCursor<T::depth>{q.taps.kernel_height, q.taps.kernel_width}, stages);
}

/// 4-byte reads; the taps' channels without gaps.
template <class T, bool kBackward>
__global__ void __launch_bounds__(kGemmThreads, 2)
    implicit_gemm_scalars(const ActivationsProblem q, const float* __restrict__ in,
                          const float* __restrict__ weights, float* __restrict__ out) {
  using LoaderB = std::conditional_t<kBackward, TurnedScalars<T>, FilterScalars<T>>;
  const int terms = q.taps.channels * q.taps.kernel_height * q.taps.kernel_width;
  activations_tile<T, PixelScalars<T>, LoaderB>(q, in, weights, out, DenseCursor<T::depth>{},
                                                (terms + T::depth - 1) / T::depth);
}

}  // namespace warpscope::ops::conv2d
