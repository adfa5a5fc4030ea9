#pragma once
// TF32 operands of the variant `fused` with fewer instructions than mma_tile.cuh's. The products are the
// same in the same tiles of shared memory; what changes is what a lane loads, as issuing instructions, not
// the tensor cores, is the limit.
//
//   rounding  one instruction a number on compute capability 9.0, where cvt.rna becomes a comparison and an
//             addition
//   SideTf32  for operands whose k runs across the lines: which row of the result a row of a fragment is, is
//             free to choose. Row g of fragment e is row 4 g + e of a warp's 32, so that the four fragments
//             of a lane are 16 bytes of one line: one load in place of four. Columns likewise; a lane then
//             ends with eight neighbours of a row, which it writes without passing through shared memory.
//
// For warps of 64 x 64 elements. Registers: fused_mma*.cu. Source: mma_tile.cuh; PTX ISA, "Matrix
// Fragments for mma.m16n8k8".

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/mma_tile.cuh"
#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::fused::general::tensor {

/// FP32 rounded to the nearest TF32, ties away from zero: half a TF32 unit is added to the magnitude, and the
/// multiplication cuts off what is below a unit. NaN stays, also the one that arithmetic makes, 0x7fffffff,
/// which the addition would carry over; of the negative ones only those with the 11 highest bits of their
/// payload set are lost, which no arithmetic makes.
__device__ __forceinline__ unsigned rounded(unsigned stored) {
  const int sum = static_cast<int>(stored + 0x1000u);
  const int same = static_cast<int>(stored);
  return static_cast<unsigned>(sum > same ? sum : same);
}

/// k along the lines.
template <int kSide, int kDepthBytes, int kThreads>
struct DepthTf32 : conv2d::tensor_cores::AlongDepth<mma::Tf32, kSide, kDepthBytes, kThreads> {
  using Base = conv2d::tensor_cores::AlongDepth<mma::Tf32, kSide, kDepthBytes, kThreads>;

  template <int kCount>
  static __device__ __forceinline__ void load_rows(unsigned (&a)[kCount][4], mma::SharedAddress tile,
                                                   int first, int step, int lane) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      mma::load_matrices(a[i], tile + Base::place(first + i * 16 + (lane & 15), 2 * step + (lane >> 4)));
#pragma unroll
      for (int w = 0; w < 4; ++w) a[i][w] = rounded(a[i][w]);
    }
  }
  template <int kCount>
  static __device__ __forceinline__ void load_columns(unsigned (&b)[kCount][2], mma::SharedAddress tile,
                                                      int first, int step, int lane) {
#pragma unroll
    for (int j = 0; j < kCount; j += 2) {
      const int line = first + j * 8 + (lane >> 4) * 8 + (lane & 7);
      unsigned pair[4];
      mma::load_matrices(pair, tile + Base::place(line, 2 * step + ((lane >> 3) & 1)));
#pragma unroll
      for (int w = 0; w < 4; ++w) b[j + w / 2][w % 2] = rounded(pair[w]);
    }
  }
};

/// k across the lines, four fragments at a time.
template <int kSide, int kDepthBytes, int kThreads>
struct SideTf32 : conv2d::tensor_cores::AlongSide<mma::Tf32, kSide, kDepthBytes, kThreads> {
  using Base = conv2d::tensor_cores::AlongSide<mma::Tf32, kSide, kDepthBytes, kThreads>;
  static_assert(Base::chunks >= 16);

  /// Four neighbours of line step * 8 + lane % 4 (+ 4 if `later`), from first + 4 * (lane / 4) (+ 32 if
  /// `far`) on. As Base::place(), but that only lanes' own numbers are exchanged.
  static __device__ __forceinline__ void load(unsigned (&four)[4], mma::SharedAddress tile, int first,
                                              int step, int lane, bool later, bool far) {
    const int line = lane & 3;
    const int chunk = (lane >> 2) ^ (line << 1);
    const auto mine = static_cast<unsigned>(line * Base::line_bytes +
                                            (first / 4 + chunk) * conv2d::tensor_cores::kChunkBytes);
    mma::load_chunk(four, tile + mine +
                              static_cast<unsigned>((step * 8 + (later ? 4 : 0)) * Base::line_bytes +
                                                    (far ? 8 : 0) * conv2d::tensor_cores::kChunkBytes));
#pragma unroll
    for (int e = 0; e < 4; ++e) four[e] = rounded(four[e]);
  }
  static __device__ __forceinline__ void load_rows(unsigned (&a)[4][4], mma::SharedAddress tile, int first,
                                                   int step, int lane) {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      unsigned four[4];
      load(four, tile, first, step, lane, w / 2 != 0, w % 2 != 0);
#pragma unroll
      for (int e = 0; e < 4; ++e) a[e][w] = four[e];
    }
  }
  static __device__ __forceinline__ void load_columns(unsigned (&b)[8][2], mma::SharedAddress tile, int first,
                                                      int step, int lane) {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      unsigned four[4];
      load(four, tile, first, step, lane, w / 2 != 0, w % 2 != 0);
#pragma unroll
      for (int e = 0; e < 4; ++e) b[w % 2 * 4 + e][w / 2] = four[e];
    }
  }
};

/// Writes a tile that two SideTf32 made, to rows of `columns` elements, which come in fours.
template <class T>
__device__ __forceinline__ void finish_sides(const conv2d::tensor_cores::Sums<T>& sums,
                                             const conv2d::tensor_cores::WarpPlace& at, int first_row,
                                             int first_column, float* out, int rows, int columns) {
  const int group = at.lane / 4;
  const int member = at.lane % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + at.row + half * 32 + 4 * group + i;
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const int column = first_column + at.column + w / 2 * 32 + 8 * member + w % 2 * 4;
        const int j = w / 2 * 4;
        const int value = 2 * half + w % 2;
        if (row >= rows || column >= columns) continue;
        *reinterpret_cast<float4*>(out + static_cast<unsigned>(row * columns + column)) = make_float4(
            sums[i][j][value], sums[i][j + 1][value], sums[i][j + 2][value], sums[i][j + 3][value]);
      }
    }
  }
}

}  // namespace warpscope::ops::conv2d::fused::general::tensor
