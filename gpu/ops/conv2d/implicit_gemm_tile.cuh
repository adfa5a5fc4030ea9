#pragma once
// The matrix product under the variants `implicit_gemm`: C[m][n] = sum over k of A[k][m] B[k][n] in FP32 on
// the CUDA cores, for operands that are never stored as matrices. A loader brings a tile of k rows of A
// or B from wherever the convolution keeps it into registers and from there into shared memory; this file
// does the rest.
//
// A block is 256 threads, 8 warps. A warp makes 64 x 32 elements of C, a thread 8 x 8 of them in registers:
// per k it reads 16 numbers for 64 products, so that the arithmetic, not shared memory, is the limit. Tiles
// smaller than eight warps' are cut along k as well ("slices"): warps of different slices make the same
// elements from different k, and add them at the end in a fixed order. Shared memory holds two stages: while
// the block works on one, the loaders fetch the next into registers; one barrier a stage.
//
// Registers: 124 to 128 a thread of every kernel on these tiles, so that two blocks share a multiprocessor.
// Nothing is spilled on compute capability 9.0; on 8.0 a few kernels, none of them large with vectors, spill
// 4 to 72 bytes. Shared memory: 33,792 bytes for 128 x 128, 25,600 for 128 x 64, 34,816 for 64 x 64, 26,624
// for 64 x 32, 43,008 for 128 x 32.
//
// Sources: V. Volkov, J. Demmel, "Benchmarking GPUs to tune dense linear algebra" (2008), register tiles; S.
// Gray, "MaxAs: SGEMM" (2014), the placing of a warp's threads; A. Kerr, D. Merrill, J. Demouth, J. Tran,
// "CUTLASS: fast linear algebra in CUDA C++" (2017), tiles of blocks, warps and threads, and slices.

#include <cuda_runtime.h>

namespace warpscope::ops::conv2d {

inline constexpr int kGemmThreads = 256;
inline constexpr int kGemmWarps = kGemmThreads / 32;

/// A block's tile: kRows x kColumns elements of C, kDepth values of k a stage.
template <int kRows, int kColumns, int kDepth>
struct Tile {
  static constexpr int rows = kRows;
  static constexpr int columns = kColumns;
  static constexpr int depth = kDepth;
  static constexpr int row_warps = kRows / 64;
  static constexpr int slice_warps = row_warps * (kColumns / 32);
  static constexpr int slices = kGemmWarps / slice_warps;
  static constexpr int slice_depth = kDepth / slices;
  static constexpr int slice_threads = 32 * slice_warps;
  /// Floats from one k to the next in shared memory. 4 more than the tile: vectors stay aligned, and the
  /// transposing loaders' stores fall into 32 different banks.
  static constexpr int stride_a = kRows + 4;
  static constexpr int stride_b = kColumns + 4;
  static constexpr int stage = kDepth * (stride_a + stride_b);
  static_assert(slices * slice_warps == kGemmWarps && slices * slice_depth == kDepth);
};

/// Where a thread's 8 x 8 elements lie in the block's tile: rows row + {0..3} and row + 32 + {0..3}, columns
/// column + {0..3} and column + 16 + {0..3}.
struct TilePlace {
  int slice;
  int row;
  int column;
};

/// Eight threads of a warp along the rows, four along the columns, numbered so that neighbouring threads, or
/// those two apart, of each half warp read the same 16 bytes: then a 16-byte read takes the fewest passes
/// through shared memory.
template <class T>
__device__ __forceinline__ TilePlace place_of_thread() {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int inner = warp % T::slice_warps;
  const int lane_row = (lane >> 1) & 7;
  const int lane_column = (lane & 1) | ((lane >> 4) << 1);
  return {warp / T::slice_warps, (inner % T::row_warps) * 64 + lane_row * 4,
          (inner / T::row_warps) * 32 + lane_column * 4};
}

/// The thread's 8 values of a row of A (kApart = 32) or B (kApart = 16).
template <int kApart>
__device__ __forceinline__ void read_fragment(float (&to)[8], const float* from) {
  const float4 low = *reinterpret_cast<const float4*>(from);
  const float4 high = *reinterpret_cast<const float4*>(from + kApart);
  to[0] = low.x;
  to[1] = low.y;
  to[2] = low.z;
  to[3] = low.w;
  to[4] = high.x;
  to[5] = high.y;
  to[6] = high.z;
  to[7] = high.w;
}

/// sum += the product of one stage. The values of the next k are read while those of this one are multiplied.
template <class T>
__device__ __forceinline__ void accumulate(float (&sum)[8][8], const float* stage, const TilePlace& place) {
  const float* a = stage + place.slice * T::slice_depth * T::stride_a + place.row;
  const float* b = stage + T::depth * T::stride_a + place.slice * T::slice_depth * T::stride_b + place.column;
  float left[2][8];
  float right[2][8];
  read_fragment<32>(left[0], a);
  read_fragment<16>(right[0], b);
#pragma unroll
  for (int k = 0; k < T::slice_depth; ++k) {
    if (k + 1 < T::slice_depth) {
      read_fragment<32>(left[(k + 1) % 2], a + (k + 1) * T::stride_a);
      read_fragment<16>(right[(k + 1) % 2], b + (k + 1) * T::stride_b);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[i][j] += left[k % 2][i] * right[k % 2][j];
    }
  }
}

/// sum = the product over `stages` stages, from where `cursor` stands. A loader has fetch(cursor), which
/// reads device memory into registers, and store(shared), which writes them to its part of a stage; a cursor
/// has advance().
template <class T, class LoaderA, class LoaderB, class Cursor>
__device__ __forceinline__ void multiply(float (&sum)[8][8], LoaderA& a, LoaderB& b, Cursor cursor,
                                         int stages, float* shared, const TilePlace& place) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[i][j] = 0.0f;
  }
  a.fetch(cursor);
  b.fetch(cursor);
  a.store(shared);
  b.store(shared + T::depth * T::stride_a);
  __syncthreads();
  for (int stage = 0; stage < stages; ++stage) {
    const bool more = stage + 1 < stages;
    if (more) {
      cursor.advance();
      a.fetch(cursor);
      b.fetch(cursor);
    }
    accumulate<T>(sum, shared + (stage % 2) * T::stage, place);
    if (more) {
      float* next = shared + ((stage + 1) % 2) * T::stage;
      a.store(next);
      b.store(next + T::depth * T::stride_a);
    }
    __syncthreads();
  }
}

/// A dense row-major matrix that blocks write tiles to.
struct Destination {
  float* data;
  int rows;
  int columns;
  bool vectors;  ///< columns % 4 == 0 and data is aligned to 16 bytes

  /// Four elements of a row, as far as they lie inside.
  __device__ __forceinline__ void write(int row, int column, const float* values) const {
    if (row >= rows) return;
    float* to = data + row * columns + column;
    if (vectors) {
      if (column < columns)
        *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (column + j < columns) to[j] = values[j];
      }
    }
  }
};

/// Writes the block's tile, whose first element is C[row][column]. With slices, the rows of a thread go
/// through shared memory two at a time: one slice, in turn, adds what the others made, in the order of the
/// slices, and writes.
template <class T>
__device__ __forceinline__ void finish(float (&sum)[8][8], float* shared, const TilePlace& place, int row,
                                       int column, const Destination& to) {
  const int thread = static_cast<int>(threadIdx.x) % T::slice_threads;
#pragma unroll
  for (int pair = 0; pair < 4; ++pair) {
    const int owner = pair % T::slices;
    if constexpr (T::slices > 1) {
      if (place.slice != owner) {
        float* mine = shared + (place.slice - (place.slice > owner ? 1 : 0)) * 16 * T::slice_threads + thread;
#pragma unroll
        for (int v = 0; v < 16; ++v) mine[v * T::slice_threads] = sum[2 * pair + v / 8][v % 8];
      }
      __syncthreads();
    }
    if (place.slice == owner) {
      if constexpr (T::slices > 1) {
#pragma unroll
        for (int other = 0; other < T::slices - 1; ++other) {
          const float* theirs = shared + other * 16 * T::slice_threads + thread;
#pragma unroll
          for (int v = 0; v < 16; ++v) sum[2 * pair + v / 8][v % 8] += theirs[v * T::slice_threads];
        }
      }
#pragma unroll
      for (int i = 2 * pair; i < 2 * pair + 2; ++i) {
        const int to_row = row + place.row + (i / 4) * 32 + i % 4;
        to.write(to_row, column + place.column, &sum[i][0]);
        to.write(to_row, column + place.column + 16, &sum[i][4]);
      }
    }
    if constexpr (T::slices > 1) __syncthreads();
  }
}

using LargeTile = Tile<128, 128, 16>;
using MediumTile = Tile<128, 64, 16>;
using SmallTile = Tile<64, 64, 32>;
using SlimTile = Tile<64, 32, 32>;
using TallTile = Tile<128, 32, 32>;

}  // namespace warpscope::ops::conv2d
