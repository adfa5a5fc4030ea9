#pragma once
// A tile of a matrix product on tensor cores: out[row][column] = sum over k of A[k][row] * B[k][column].
//
// The tiles of A and B wait in shared memory, a stage of k at a time; loaders (mma_loaders.cuh) fill the
// stages ahead by asynchronous copies while four or eight warps multiply, each its own part of the result. An
// operand lies in a stage in lines of 16-byte chunks, as its tensor has it: AlongDepth, a line is one row
// (column) of the result and k runs along it, or AlongSide, a line is one k. The chunks of a line are
// exchanged (swizzled) so that every group of eight lanes of a fragment load meets all 32 banks once.
//
// Shared memory of the tiles, three stages: huge 256x128 and wide 128x256 144 KiB, large 128x128 96 KiB,
// medium 128x64 72 KiB, tall 128x32 60 KiB, narrow 128x16 54 KiB, small 64x64 and dense 128x128 (half as
// deep) 48 KiB. Their registers stand in the headers of the variants.
// Source: NVIDIA, "CUTLASS documentation", "Efficient GEMM in CUDA" and "Implicit GEMM convolution".

#include <algorithm>
#include <cstddef>

#include <cuda_runtime.h>

#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::tensor_cores {

inline constexpr int kChunkBytes = 16;
inline constexpr int kStepBytes = 32;  ///< of k in one multiplication

template <int kRows, int kColumns, int kWarpRows, int kWarpColumns, int kDepthBytes, int kBlocks>
struct Tile {
  static constexpr int rows = kRows;
  static constexpr int columns = kColumns;
  static constexpr int warp_rows = kWarpRows;
  static constexpr int warp_columns = kWarpColumns;
  static constexpr int depth_bytes = kDepthBytes;
  static constexpr int blocks = kBlocks;  ///< on a multiprocessor
  static constexpr int threads = (kRows / kWarpRows) * (kColumns / kWarpColumns) * 32;
  static constexpr int stages = 3;
  static constexpr int row_fragments = kWarpRows / 16;
  static constexpr int column_fragments = kWarpColumns / 8;
  static constexpr unsigned stage_bytes = (kRows + kColumns) * kDepthBytes;
  static constexpr unsigned shared_bytes = stages * stage_bytes;
};

/// On one block of eight warps a multiprocessor, so as to read less for each product.
using HugeTile = Tile<256, 128, 64, 64, 128, 1>;
using WideTile = Tile<128, 256, 64, 64, 128, 1>;
using LargeTile = Tile<128, 128, 64, 64, 128, 2>;
using MediumTile = Tile<128, 64, 64, 32, 128, 3>;
using SmallTile = Tile<64, 64, 32, 32, 128, 4>;
using NarrowTile = Tile<128, 16, 32, 16, 128, 4>;
/// For sums too short to fill a stage of the others, and for reads of single elements.
using DenseTile = Tile<128, 128, 64, 64, 64, 2>;
using TallTile = Tile<128, 32, 32, 32, 128, 3>;

/// Elements of k in a stage.
template <class T, class Math>
inline constexpr int depth_of = T::depth_bytes / static_cast<int>(sizeof(typename Math::Storage));

/// What exchanges the chunks of `line` where eight lines are read at once.
template <int kChunks>
__device__ __forceinline__ int line_swizzle(int line) {
  if constexpr (kChunks >= 8) return line & 7;
  if constexpr (kChunks == 4) return (line >> 1) & 3;
  return (line >> 2) & 1;
}

/// k runs along the lines.
template <class Math, int kSide, int kDepthBytes, int kThreads>
struct AlongDepth {
  static constexpr int threads = kThreads;  ///< that fill it
  static constexpr int chunks = kDepthBytes / kChunkBytes;
  static constexpr int lines = kSide;

  static __device__ __forceinline__ unsigned place(int line, int chunk) {
    return static_cast<unsigned>(line * kDepthBytes + (chunk ^ line_swizzle<chunks>(line)) * kChunkBytes);
  }
  template <int kCount>
  static __device__ __forceinline__ void load_rows(unsigned (&a)[kCount][4], mma::SharedAddress tile,
                                                   int first, int step, int lane) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      mma::load_matrices(a[i], tile + place(first + i * 16 + (lane & 15), 2 * step + (lane >> 4)));
#pragma unroll
      for (int w = 0; w < 4; ++w) a[i][w] = mma::operand_word(Math{}, a[i][w]);
    }
  }
  template <int kCount>
  static __device__ __forceinline__ void load_columns(unsigned (&b)[kCount][2], mma::SharedAddress tile,
                                                      int first, int step, int lane) {
#pragma unroll
    for (int j = 0; j < kCount; j += 2) {
      const int line = first + j * 8 + (lane >> 4) * 8 + (lane & 7);
      unsigned pair[4];
      mma::load_matrices(pair, tile + place(line, 2 * step + ((lane >> 3) & 1)));
#pragma unroll
      for (int w = 0; w < 4; ++w) b[j + w / 2][w % 2] = mma::operand_word(Math{}, pair[w]);
    }
  }
};

/// A line is one k. The matrices are transposed as they are loaded.
template <class Math, int kSide, int kDepthBytes, int kThreads>
struct AlongSide {
  static constexpr int threads = kThreads;
  static constexpr int element_bytes = sizeof(typename Math::Storage);
  static constexpr int line_bytes = kSide * element_bytes;
  static constexpr int chunks = line_bytes / kChunkBytes;
  static constexpr int lines = kDepthBytes / element_bytes;

  static __device__ __forceinline__ unsigned place(int line, int chunk) {
    return static_cast<unsigned>(line * line_bytes + (chunk ^ line_swizzle<chunks>(line)) * kChunkBytes);
  }
  template <int kCount>
  static __device__ __forceinline__ void load_rows(unsigned (&a)[kCount][4], mma::SharedAddress tile,
                                                   int first, int step, int lane) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int line = step * 16 + (lane >> 4) * 8 + (lane & 7);
      mma::load_matrices_transposed(a[i], tile + place(line, first / 8 + 2 * i + ((lane >> 3) & 1)));
    }
  }
  template <int kCount>
  static __device__ __forceinline__ void load_columns(unsigned (&b)[kCount][2], mma::SharedAddress tile,
                                                      int first, int step, int lane) {
#pragma unroll
    for (int j = 0; j < kCount; j += 2) {
      const int line = step * 16 + ((lane >> 3) & 1) * 8 + (lane & 7);
      unsigned pair[4];
      mma::load_matrices_transposed(pair, tile + place(line, first / 8 + j + (lane >> 4)));
#pragma unroll
      for (int w = 0; w < 4; ++w) b[j + w / 2][w % 2] = pair[w];
    }
  }
};

/// No instruction transposes matrices of 4-byte elements: each is loaded by itself. A warp reads eight
/// neighbours of four lines at once.
template <int kSide, int kDepthBytes, int kThreads>
struct AlongSide<mma::Tf32, kSide, kDepthBytes, kThreads> {
  static constexpr int threads = kThreads;
  static constexpr int line_bytes = kSide * 4;
  static constexpr int chunks = line_bytes / kChunkBytes;
  static constexpr int lines = kDepthBytes / 4;

  static __device__ __forceinline__ unsigned place(int line, int chunk) {
    const int swizzle = chunks >= 8 ? (line & 3) << 1 : line & 2;
    return static_cast<unsigned>(line * line_bytes + (chunk ^ swizzle) * kChunkBytes);
  }
  static __device__ __forceinline__ unsigned load(mma::SharedAddress tile, int line, int side) {
    const unsigned word = mma::load_word(tile + place(line, side / 4) + static_cast<unsigned>(side % 4 * 4));
    return mma::operand_word(mma::Tf32{}, word);
  }
  template <int kCount>
  static __device__ __forceinline__ void load_rows(unsigned (&a)[kCount][4], mma::SharedAddress tile,
                                                   int first, int step, int lane) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        a[i][w] = load(tile, step * 8 + (lane & 3) + w / 2 * 4, first + i * 16 + (lane >> 2) + w % 2 * 8);
      }
    }
  }
  template <int kCount>
  static __device__ __forceinline__ void load_columns(unsigned (&b)[kCount][2], mma::SharedAddress tile,
                                                      int first, int step, int lane) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
#pragma unroll
      for (int w = 0; w < 2; ++w) {
        b[j][w] = load(tile, step * 8 + (lane & 3) + w * 4, first + j * 8 + (lane >> 2));
      }
    }
  }
};

/// Which part of the tile the calling warp multiplies.
struct WarpPlace {
  int lane;
  int warp;
  int row;
  int column;
};

template <class T>
__device__ __forceinline__ WarpPlace warp_place() {
  constexpr int kAcross = T::columns / T::warp_columns;
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  return {thread % 32, warp, warp / kAcross * T::warp_rows, warp % kAcross * T::warp_columns};
}

template <class T>
using Sums = float[T::row_fragments][T::column_fragments][4];

/// Multiplies one stage. The fragments of the next step are loaded while those of this one are multiplied.
template <class T, class Math, class LayoutA, class LayoutB>
__device__ __forceinline__ void multiply_stage(Sums<T>& sums, mma::SharedAddress a_tile,
                                               mma::SharedAddress b_tile, const WarpPlace& at) {
  constexpr int kSteps = T::depth_bytes / kStepBytes;
  unsigned a[2][T::row_fragments][4];
  unsigned b[2][T::column_fragments][2];
  LayoutA::load_rows(a[0], a_tile, at.row, 0, at.lane);
  LayoutB::load_columns(b[0], b_tile, at.column, 0, at.lane);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int now = step % 2;
    if (step + 1 < kSteps) {
      LayoutA::load_rows(a[1 - now], a_tile, at.row, step + 1, at.lane);
      LayoutB::load_columns(b[1 - now], b_tile, at.column, step + 1, at.lane);
    }
#pragma unroll
    for (int i = 0; i < T::row_fragments; ++i) {
#pragma unroll
      for (int j = 0; j < T::column_fragments; ++j) {
        mma::multiply_add(Math{}, sums[i][j], a[now][i], b[now][j]);
      }
    }
  }
}

/// The whole sum: `stages` stages that fetch(stage's address of A, of B) fills in turn, each call the next;
/// look(address of A, of B) sees each stage complete. All threads have passed a barrier when it returns.
template <class T, class Math, class LayoutA, class LayoutB, class Fetch, class Look>
__device__ __forceinline__ void multiply(Sums<T>& sums, mma::SharedAddress shared, int stages,
                                         const WarpPlace& at, Fetch fetch, Look look) {
  constexpr unsigned kTileA = T::rows * T::depth_bytes;
#pragma unroll
  for (int i = 0; i < T::row_fragments; ++i) {
#pragma unroll
    for (int j = 0; j < T::column_fragments; ++j) {
#pragma unroll
      for (int w = 0; w < 4; ++w) sums[i][j][w] = 0.0f;
    }
  }
#pragma unroll
  for (int stage = 0; stage < T::stages - 1; ++stage) {
    const mma::SharedAddress slot = shared + static_cast<unsigned>(stage) * T::stage_bytes;
    if (stage < stages) fetch(slot, slot + kTileA);
    mma::commit_copies();
  }
  mma::SharedAddress read = shared;
  mma::SharedAddress write = shared + (T::stages - 1) * T::stage_bytes;
  const mma::SharedAddress end = shared + T::shared_bytes;
  for (int stage = 0; stage < stages; ++stage) {
    // Each thread waits for its own copies; the barrier makes all of them visible, and tells that all have
    // multiplied the stage before, whose slot is filled next.
    mma::wait_copies<T::stages - 2>();
    __syncthreads();
    if (stage + T::stages - 1 < stages) fetch(write, write + kTileA);
    mma::commit_copies();
    look(read, read + kTileA);
    multiply_stage<T, Math, LayoutA, LayoutB>(sums, read, read + kTileA, at);
    write = read;
    read += T::stage_bytes;
    if (read == end) read = shared;
  }
  mma::wait_copies<0>();
  __syncthreads();
}

/// Where a result goes, row-major, and what is done to it on the way.
template <class Out>
struct Target {
  typename Out::Storage* out;
  int rows;
  int columns;
  bool vectors;                                 ///< whether rows may be written 16 bytes at a time
  const typename Out::Storage* bias = nullptr;  ///< of each column; none if nullptr
  bool relu = false;
};

/// Sixteen rows of a warp's part of the result, to be written along the rows: a fragment has only two
/// neighbours of a row in a lane.
template <class T, class Out>
struct Slab {
  static constexpr bool halves = sizeof(typename Out::Storage) == 2;
  static constexpr int row_words = T::warp_columns * static_cast<int>(sizeof(typename Out::Storage)) / 4;
  static constexpr int stride = row_words + (halves ? 4 : 8);  // words; lanes of a store meet all banks
  static constexpr int words = 16 * stride;
  static_assert(4 * words * T::threads / 32 <= T::shared_bytes);

  static __device__ __forceinline__ void put(unsigned* slab, int row, int column, float first, float second) {
    if constexpr (halves) {
      slab[row * stride + column / 2] = mma::narrow_pair(Out{}, first, second);
    } else {
      *reinterpret_cast<float2*>(slab + row * stride + column) = make_float2(first, second);
    }
  }
  /// Writes the slab to rows first_row, ... and columns first_column, ... of the result.
  static __device__ __forceinline__ void write(const unsigned* slab, const Target<Out>& target, int first_row,
                                               int first_column, int lane) {
    constexpr int kPerChunk = kChunkBytes / static_cast<int>(sizeof(typename Out::Storage));
    constexpr int kChunks = row_words / 4;
    if (target.vectors) {
#pragma unroll
      for (int i = lane; i < 16 * kChunks; i += 32) {
        const int row = first_row + i / kChunks;
        const int column = first_column + i % kChunks * kPerChunk;
        if (row >= target.rows || column >= target.columns) continue;
        *reinterpret_cast<uint4*>(target.out + static_cast<unsigned>(row * target.columns + column)) =
            *reinterpret_cast<const uint4*>(slab + i / kChunks * stride + i % kChunks * 4);
      }
    } else {
      for (int i = lane; i < 16 * T::warp_columns; i += 32) {
        const int row = first_row + i / T::warp_columns;
        const int column = first_column + i % T::warp_columns;
        if (row >= target.rows || column >= target.columns) continue;
        const auto* line =
            reinterpret_cast<const typename Out::Storage*>(slab + i / T::warp_columns * stride);
        target.out[static_cast<unsigned>(row * target.columns + column)] = line[i % T::warp_columns];
      }
    }
  }
};

/// Zero where negative; NaN stays.
__device__ __forceinline__ float rectify(float x, bool relu) {
  return relu && x < 0.0f ? 0.0f : x;
}

/// Writes the tile whose first element is (first_row, first_column) of the result. `shared` holds nothing any
/// more.
template <class T, class Out>
__device__ __forceinline__ void finish(const Sums<T>& sums, unsigned char* shared, const WarpPlace& at,
                                       int first_row, int first_column, const Target<Out>& target) {
  using S = Slab<T, Out>;
  unsigned* slab = reinterpret_cast<unsigned*>(shared) + at.warp * S::words;
  const int group = at.lane / 4;
  const int member = at.lane % 4;
  float bias[T::column_fragments][2] = {};
  if (target.bias != nullptr) {
#pragma unroll
    for (int j = 0; j < T::column_fragments; ++j) {
#pragma unroll
      for (int w = 0; w < 2; ++w) {
        const int column = first_column + at.column + j * 8 + member * 2 + w;
        if (column < target.columns) bias[j][w] = mma::widen(Out{}, target.bias[column]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < T::row_fragments; ++i) {
#pragma unroll
    for (int j = 0; j < T::column_fragments; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        S::put(slab, group + 8 * half, j * 8 + member * 2,
               rectify(sums[i][j][2 * half] + bias[j][0], target.relu),
               rectify(sums[i][j][2 * half + 1] + bias[j][1], target.relu));
      }
    }
    __syncwarp();
    S::write(slab, target, first_row + at.row + i * 16, first_column + at.column, at.lane);
    __syncwarp();
  }
}

}  // namespace warpscope::ops::conv2d::tensor_cores
