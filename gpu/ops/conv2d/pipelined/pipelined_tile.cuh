#pragma once
// What the kernels of pipelined.h share: stages of shared memory and the products of a thread.
//
// A thread has `down` rows and `across` columns of the tile's sums. Its rows lie threads_down apart; its columns are
// vectors of 4 or 2 neighbours, so that it writes vectors.

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/pipelined/pipelined.h"
#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::pipelined {

/// In a row of the tile: the pixel that the first tap reads, of all images, and its row and column, 16 bits each.
struct alignas(8) TileRow {
  int first;
  unsigned place;
};

template <int kIndex>
struct Tile {
  static constexpr TileShape shape = kTiles[kIndex];
  static constexpr int threads = shape.threads();
  static constexpr int rows = shape.rows();
  static constexpr int columns = shape.columns();
  static constexpr int down = shape.down;
  static constexpr int across = shape.across;
  static constexpr int vector = across % 4 == 0 ? 4 : 2;  ///< neighbouring columns of a thread
  static constexpr int row_floats = rows * kDepth;        ///< of a stage
  static constexpr int stage_floats = (rows + columns) * kDepth;
  static constexpr int stages = 4;
  static constexpr unsigned shared_bytes = stages * stage_floats * sizeof(float);
  static constexpr unsigned table_bytes =
      rows * sizeof(TileRow) + columns * sizeof(int);  ///< behind the stages, where kernels keep one
  static constexpr int resident = 512 / threads;       ///< blocks of a multiprocessor, at 128 registers
};

/// Where a thread stands in its tile. A warp is 4 x 8 threads, or 8 x 4 where only four stand beside each other.
template <class T>
struct ThreadPlace {
  int down;
  int across;
  __device__ __forceinline__ ThreadPlace() {
    constexpr int kWarpAcross = T::shape.threads_across < 8 ? T::shape.threads_across : 8;
    constexpr int kWarpsAcross = T::shape.threads_across / kWarpAcross;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    down = warp / kWarpsAcross * (32 / kWarpAcross) + lane / kWarpAcross;
    across = warp % kWarpsAcross * kWarpAcross + lane % kWarpAcross;
  }
  /// The column of its vector `i`.
  __device__ __forceinline__ int column(int i) const {
    return (i * T::shape.threads_across + across) * T::vector;
  }
};

template <class T>
using Sums = float[T::down][T::across];

template <class T>
__device__ __forceinline__ void clear(Sums<T>& sums) {
#pragma unroll
  for (int i = 0; i < T::down; ++i) {
#pragma unroll
    for (int j = 0; j < T::across; ++j) sums[i][j] = 0.0f;
  }
}

}  // namespace warpscope::ops::conv2d::pipelined
