#pragma once
// How operands of the implicit products reach shared memory. Each loader owns some places of a kDepth x kSide
// tile of one operand, stored as [k][side]; fetch() reads them from the tensor into registers, zeros where
// the convolution is padded or the tile hangs over the edge; store() writes them to shared memory.
//
// Three ways of sharing a tile among the threads, by how the tensor lies in memory:
//   TransposedVectors   k contiguous, 16 bytes at a time
//   TransposedScalars   k contiguous, one at a time: any number of channels
//   Rows                side contiguous, kVector floats at a time
// Each thread keeps its place for the whole kernel; only k moves. So whatever depends on the place is
// computed once, and the loops divide by multiplying (FastDivide), if at all.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/implicit_gemm_tile.cuh"

namespace warpscope::ops::conv2d {

/// Division by a number known on the host, for numerators under 2^31: one multiplication, one addition, one
/// shift.
/// Source: T. Granlund, P. Montgomery, "Division by invariant integers using multiplication" (1994), figure
/// 4.1.
struct FastDivide {
  unsigned multiplier = 1;
  unsigned shift = 0;

  static FastDivide by(unsigned divisor) {
    unsigned shift = 0;
    while ((std::uint64_t{1} << shift) < divisor) ++shift;
    const std::uint64_t excess = (std::uint64_t{1} << shift) - divisor;
    return {static_cast<unsigned>((excess << 32) / divisor + 1), shift};
  }
  __device__ __forceinline__ int quotient(int numerator) const {
    const auto n = static_cast<unsigned>(numerator);
    return static_cast<int>((__umulhi(n, multiplier) + n) >> shift);
  }
};

/// The tensor that the taps read: activations in forward, gradients in backward_input, either in
/// backward_weights.
struct Taps {
  int pixels;  ///< batch * height * width
  int height;
  int width;
  int channels;
  int kernel_height;
  int kernel_width;
  FastDivide by_height;
  FastDivide by_width;
  FastDivide by_channels;
  FastDivide by_kernel_width;

  /// Pixels between an output pixel and the one that tap (r, s) reads for it.
  __device__ __forceinline__ int shift(int r, int s) const {
    return (r - (kernel_height - 1) / 2) * width + s - (kernel_width - 1) / 2;
  }
  /// Whether the pixel that tap (r, s) reads for (row, column) is inside the image.
  __device__ __forceinline__ bool inside(int row, int column, int r, int s) const {
    return static_cast<unsigned>(row + r - (kernel_height - 1) / 2) < static_cast<unsigned>(height) &&
           static_cast<unsigned>(column + s - (kernel_width - 1) / 2) < static_cast<unsigned>(width);
  }
};

/// A pixel as row and column of its image. One past the last pixel is put where no tap is inside.
struct PixelPlace {
  int row;
  int column;
  __device__ __forceinline__ PixelPlace(const Taps& taps, int pixel) {
    const int line = taps.by_width.quotient(pixel);
    column = pixel - line * taps.width;
    row = line - taps.by_height.quotient(line) * taps.height;
    if (pixel >= taps.pixels) row = -2 * taps.kernel_height - 1;
  }
  /// The next pixel; which must exist.
  __device__ __forceinline__ void advance(const Taps& taps) {
    if (++column < taps.width) return;
    column = 0;
    if (++row < taps.height) return;
    row = 0;
  }
};

/// k = a block of kDepth channels at a time, all taps for one block before the next block: the taps of
/// neighbouring pixels read the same channels again and find them in the L1 cache. The last block may hang
/// over the end of the channels.
template <int kDepth>
struct BlockCursor {
  int kernel_height;
  int kernel_width;
  int r = 0;
  int s = 0;
  int channel = 0;
  __device__ __forceinline__ void advance() {
    if (++s < kernel_width) return;
    s = 0;
    if (++r < kernel_height) return;
    r = 0;
    channel += kDepth;
  }
};

/// k = (r, s, channel) without gaps, kDepth at a time.
template <int kDepth>
struct DenseCursor {
  int k = 0;
  __device__ __forceinline__ void advance() { k += kDepth; }
};

/// (r, s, channel) of one k, walking on by ones.
struct DensePlace {
  int r;
  int s;
  int channel;
  __device__ __forceinline__ DensePlace(const Taps& taps, int k) {
    const int tap = taps.by_channels.quotient(k);
    channel = k - tap * taps.channels;
    r = taps.by_kernel_width.quotient(tap);
    s = tap - r * taps.kernel_width;
  }
  __device__ __forceinline__ void advance(const Taps& taps) {
    if (++channel < taps.channels) return;
    channel = 0;
    if (++s < taps.kernel_width) return;
    s = 0;
    ++r;
  }
};

/// A warp's share is 16 places of the side by 8 of k: 32 contiguous bytes of each place. The stores of a warp
/// fall into 32 banks: 4 k are 4 * stride = 16 banks apart, the 16 places one bank each.
template <int kSide, int kDepth>
struct TransposedVectors {
  static constexpr int groups = kSide / 16;
  static constexpr int step = 8 * kGemmWarps / groups;
  static constexpr int count = kSide * kDepth / (4 * kGemmThreads);
  static_assert(kGemmWarps % groups == 0 && count * 4 * kGemmThreads == kSide * kDepth);
  int side;
  int k;
  float4 value[count];

  __device__ __forceinline__ TransposedVectors() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    side = (warp % groups) * 16 + lane / 2;
    k = (warp / groups) * 8 + (lane % 2) * 4;
  }
  __device__ __forceinline__ void fetch(const float* from, bool inside, int limit) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      value[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (inside && k + i * step < limit) value[i] = *reinterpret_cast<const float4*>(from + i * step);
    }
  }
  __device__ __forceinline__ void store(float* shared) const {
    constexpr int stride = kSide + 4;
    float* to = shared + k * stride + side;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      to[(i * step + 0) * stride] = value[i].x;
      to[(i * step + 1) * stride] = value[i].y;
      to[(i * step + 2) * stride] = value[i].z;
      to[(i * step + 3) * stride] = value[i].w;
    }
  }
};

/// A thread's share is `count` neighbouring k of one place of the side.
template <int kSide, int kDepth>
struct TransposedScalars {
  static constexpr int count = kSide * kDepth / kGemmThreads;
  int side = static_cast<int>(threadIdx.x) % kSide;
  int k = static_cast<int>(threadIdx.x) / kSide * count;
  float value[count];

  __device__ __forceinline__ TransposedScalars() {}
  __device__ __forceinline__ void store(float* shared) const {
    constexpr int stride = kSide + 4;
#pragma unroll
    for (int i = 0; i < count; ++i) shared[(k + i) * stride + side] = value[i];
  }
};

/// A thread's share is kVector neighbouring places of the side in every step-th k.
template <int kSide, int kDepth, int kVector>
struct Rows {
  static constexpr int threads = kSide / kVector;
  static constexpr int step = kGemmThreads / threads;
  static constexpr int count = kDepth / step;
  static_assert(kVector == 1 || kVector == 4);
  static_assert(count * step == kDepth);
  int side = static_cast<int>(threadIdx.x) % threads * kVector;
  int k = static_cast<int>(threadIdx.x) / threads;
  float value[count][kVector];

  __device__ __forceinline__ Rows() {}
  __device__ __forceinline__ void fetch_one(int i, const float* from) {
    if constexpr (kVector == 4) {
      const float4 four = *reinterpret_cast<const float4*>(from);
      value[i][0] = four.x;
      value[i][1] = four.y;
      value[i][2] = four.z;
      value[i][3] = four.w;
    } else {
      value[i][0] = *from;
    }
  }
  __device__ __forceinline__ void clear_one(int i) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) value[i][j] = 0.0f;
  }
  __device__ __forceinline__ void store(float* shared) const {
    constexpr int stride = kSide + 4;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      float* to = shared + (k + i * step) * stride + side;
      if constexpr (kVector == 4) {
        *reinterpret_cast<float4*>(to) = make_float4(value[i][0], value[i][1], value[i][2], value[i][3]);
      } else {
        *to = value[i][0];
      }
    }
  }
};

}  // namespace warpscope::ops::conv2d
