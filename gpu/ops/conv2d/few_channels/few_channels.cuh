#pragma once
// What the kernels of few_channels.h share: places of tiles, and patches.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/few_channels/few_channels.h"
#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::few_channels {

using Half = std::uint16_t;  ///< a stored element of either type

__device__ __forceinline__ constexpr unsigned one_of(mma::Fp16) {
  return 0x3c00u;
}
__device__ __forceinline__ constexpr unsigned one_of(mma::Bf16) {
  return 0x3f80u;
}

/// The first pixel of a tile, of y.
struct TilePlace {
  int image;
  int row;
  int column;

  __device__ __forceinline__ TilePlace(const Problem& q, int tile) {
    const int line = tile / q.across;
    image = line / q.down;
    row = (line - image * q.down) * q.tile_rows();
    column = (tile - line * q.across) << q.tile_shift;
  }
};

/// Pixel i of a tile, of y; outside where the tile hangs over.
struct TilePixel {
  int row;
  int column;

  __device__ __forceinline__ TilePixel(const Problem& q, const TilePlace& at, int i)
      : row(at.row + (i >> q.tile_shift)), column(at.column + (i & (q.tile_columns() - 1))) {}

  __device__ __forceinline__ bool exists(const Problem& q) const {
    return row < q.rows && column < q.columns;
  }
  /// Its first element in y.
  __device__ __forceinline__ std::int64_t element(const Problem& q, const TilePlace& at) const {
    return ((static_cast<std::int64_t>(at.image) * q.rows + row) * q.columns + column) * q.filters;
  }
};

/// Where pixel i of a tile has its first tap, in pixels of the patch.
__device__ __forceinline__ int patch_place(const Problem& q, int i) {
  return ((i >> q.tile_shift) * q.patch_columns + (i & (q.tile_columns() - 1))) * q.stride;
}

/// Calls store(pixel of the patch, its column, its two words) for this thread's pixels of a tile's patch.
template <class Math, int kThreads, class Store>
__device__ __forceinline__ void read_patch(Math, const Problem& q, const TilePlace& at,
                                           const Half* __restrict__ x, Store store) {
  constexpr unsigned kOne = one_of(Math{}) << 16;
  const int top = at.row * q.stride - q.padding_down;
  const int left = at.column * q.stride - q.padding_right;
  const Half* image = x + static_cast<std::int64_t>(at.image) * (q.height * q.width * q.channels);
  for (int i = static_cast<int>(threadIdx.x); i < q.patch_pixels(); i += kThreads) {
    const int row = i / q.patch_columns;
    const int column = i - row * q.patch_columns;
    const int y = top + row;
    const int x_column = left + column;
    uint2 words{0u, kOne};
    if (static_cast<unsigned>(y) < static_cast<unsigned>(q.height) &&
        static_cast<unsigned>(x_column) < static_cast<unsigned>(q.width)) {
      const Half* pixel = image + (y * q.width + x_column) * q.channels;
      words.x = pixel[0];
      if (q.channels > 1) words.x |= static_cast<unsigned>(pixel[1]) << 16;
      if (q.channels > 2) words.y |= pixel[2];
    }
    store(i, column, words);
  }
}

}  // namespace warpscope::ops::conv2d::few_channels
