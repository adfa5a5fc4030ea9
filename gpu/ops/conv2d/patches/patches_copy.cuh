#pragma once
// What the kernels of patches.h share: places of tiles and pixels, and copies of patches.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/patches/patches.h"
#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::patches {

using Half = std::uint16_t;  ///< a stored element of either type

/// The first pixel of a tile.
struct TilePlace {
  int image;
  int row;
  int column;

  __device__ __forceinline__ TilePlace(const Problem& q, int tile) {
    const int line = tile / q.across;
    const int group = line / q.down;
    image = group * q.images;
    row = (line - group * q.down) * q.tile_rows;
    column = (tile - line * q.across) * q.tile_columns;
  }
};

/// Starts the copies of the patch of a tile; zeros for what lies outside. A warp has lines of it in turn.
template <int kWarps>
__device__ __forceinline__ void copy_patch(const Problem& q, const TilePlace& at, const Half* __restrict__ x,
                                           mma::SharedAddress to, int warp, int lane) {
  const int top = at.row - q.above;
  const int left = at.column - q.before;
  const int line_chunks = q.patch_columns * q.chunks;
  const int first = max(0, -left) * q.chunks;
  const int end = min(q.patch_columns, q.width - left) * q.chunks;
  // An even number of chunks has one of nothing behind it: l / chunks of them before chunk l (both below 2^15).
  const int gaps = q.pitch() == q.chunks ? 0 : 65536 / q.chunks + 1;
  const auto line_bytes = static_cast<unsigned>(q.patch_columns * q.pitch() * kChunkBytes);
  for (int line = warp; line < q.images * q.patch_rows; line += kWarps) {
    const int in_tile = q.images == 1 ? 0 : line / q.patch_rows;
    const int row = top + line - in_tile * q.patch_rows;
    const int image = at.image + in_tile;
    const bool line_exists = image < q.batch && static_cast<unsigned>(row) < static_cast<unsigned>(q.height);
    const int from =
        line_exists ? ((image * q.height + row) * q.width + left) * (kChunkChannels * q.chunks) : 0;
    const mma::SharedAddress line_to = to + static_cast<unsigned>(line) * line_bytes;
    for (int l = lane; l < line_chunks; l += 32) {
      const bool exists = line_exists && l >= first && l < end;
      mma::copy_async(line_to + static_cast<unsigned>((l + (l * gaps >> 16)) * kChunkBytes),
                      exists ? x + from + kChunkChannels * l : x, exists);
    }
  }
}

/// Where a tensor of the result's size has `filter` of the pixel at `place` of a tile; -1: nowhere.
__device__ __forceinline__ int filter_element(const Problem& q, const TilePlace& at, int place, int filter) {
  const int image = at.image + (place >> 16);
  const int row = at.row + (place >> 8 & 0xff);
  const int column = at.column + (place & 0xff);
  const bool exists =
      place >= 0 && image < q.batch && row < q.rows && column < q.columns && filter < q.filters;
  return exists ? ((image * q.rows + row) * q.columns + column) * q.filters + filter : -1;
}

}  // namespace warpscope::ops::conv2d::patches
