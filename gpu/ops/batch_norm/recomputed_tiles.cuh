#pragma once
// How the kernels of recomputed.h walk the images: tiles of 8x16 pixels, which are 4x8 windows of a pooling, and the
// patch of a tile as the rows of a matrix in shared memory (PixelRows of narrow_patch.cuh), in row-major order. A row
// ends with a one, which makes sums of what it is multiplied with.
//
// A unit is half of two rows of pixels: 8 pixels and the 8 below them, four windows. In a product whose columns
// are pixels, a lane's results of the two 8s are the four pixels of one window; in one that sums over pixels, a unit is
// a step of 16.
//
// A warp has 32 filters; the rows of its two products of 16 are ordered so that a lane has four filters in a row.

#include <cstdint>

#include "gpu/ops/batch_norm/recomputed.h"
#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_patch.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_sum.h"
#include "gpu/ops/mma.cuh"

namespace warpscope::ops::batch_norm::recomputed {

namespace narrow = conv2d::fused::narrow;
using narrow::Half;

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kTileHeight = 2 * narrow::kTileRows;  // pixels
inline constexpr int kTileWidth = 2 * narrow::kTileColumns;
inline constexpr int kUnits = 8;
inline constexpr int kWarpFilters = 32;
inline constexpr int kLaneFilters = 4;

/// One of a tile: its row of windows, the left half or the right one.
struct Unit {
  int row;
  int half;
};

__device__ __forceinline__ Unit unit_of(unsigned number) {
  return {static_cast<int>(number / 2), static_cast<int>(number % 2)};
}

/// The images, their tiles and the whole windows in them.
struct Images {
  int height;
  int width;
  int rows;  ///< windows
  int columns;
  int filters;
  int across;  ///< tiles of an image
  int down;
  int tiles;
  conv2d::FastDivide by_across;
  conv2d::FastDivide by_down;
};

inline Images images_of(const OpShape& call) {
  const int across = (call.width + kTileWidth - 1) / kTileWidth;
  const int down = (call.height + kTileHeight - 1) / kTileHeight;
  return {call.height,
          call.width,
          call.height / 2,
          call.width / 2,
          call.in_channels,
          across,
          down,
          static_cast<int>(call.batch) * across * down,
          conv2d::FastDivide::by(static_cast<unsigned>(across)),
          conv2d::FastDivide::by(static_cast<unsigned>(down))};
}

/// A tile's image and first pixel.
struct TilePlace {
  int image;
  int y;
  int x;
};

__device__ __forceinline__ TilePlace place_of(const Images& images, int tile) {
  const int line = images.by_across.quotient(tile);
  const int image = images.by_down.quotient(line);
  return {image, (line - image * images.down) * kTileHeight, (tile - line * images.across) * kTileWidth};
}

__device__ __forceinline__ bool is_inside(const Images& images, int y, int x) {
  return static_cast<unsigned>(y) < static_cast<unsigned>(images.height) &&
         static_cast<unsigned>(x) < static_cast<unsigned>(images.width);
}

/// A pixel of a tile's patch on its way through the registers of a thread.
template <int kNarrow>
struct PatchPixel {
  static_assert(narrow::kPatchPixels <= kThreads);
  Half values[kNarrow];

  __device__ __forceinline__ void fetch(const Images& images, const TilePlace& at,
                                        const Half* __restrict__ x) {
    const int row = static_cast<int>(threadIdx.x) / narrow::kPatchColumns;
    const int column = static_cast<int>(threadIdx.x) - row * narrow::kPatchColumns;
    const int y = at.y - 1 + row;
    const int from = at.x - 1 + column;
    const bool exists = threadIdx.x < narrow::kPatchPixels && is_inside(images, y, from);
    const Half* image = x + static_cast<std::int64_t>(at.image) * (images.height * images.width * kNarrow);
#pragma unroll
    for (int c = 0; c < kNarrow; ++c)
      values[c] = exists ? image[(y * images.width + from) * kNarrow + c] : Half{0};
  }
  __device__ __forceinline__ void store(Half* patch) const {
    if (threadIdx.x >= narrow::kPatchPixels) return;
#pragma unroll
    for (int c = 0; c < kNarrow; ++c) patch[static_cast<int>(threadIdx.x) * kNarrow + c] = values[c];
  }
};

/// What a block has in shared memory.
template <class Math, int kNarrow>
struct Shared {
  using Rows = narrow::PixelRows<Math, kNarrow>;
  alignas(16) unsigned char rows[Rows::bytes];
  Half patch[narrow::kPatchPixels * kNarrow];
};

/// Pixel of a tile whose row a thread copies.
struct CopiedPixel {
  int y = static_cast<int>(threadIdx.x) % narrow::kTilePixels / kTileWidth;
  int x = static_cast<int>(threadIdx.x) % kTileWidth;
};

/// Makes the rows of a tile, zeros where `exists` is false: half of the threads the first half of each row.
template <class Rows>
__device__ __forceinline__ void copy_rows(mma::SharedAddress rows, const Half* patch, bool exists) {
  const CopiedPixel pixel;
  rows += static_cast<unsigned>((pixel.y * kTileWidth + pixel.x) * Rows::stride);
  const bool first = threadIdx.x < narrow::kTilePixels;
  if (!exists) {
    constexpr unsigned kZeros[4] = {0, 0, 0, 0};
#pragma unroll
    for (int chunk = 0; chunk < Rows::steps; ++chunk)
      mma::store_chunk(rows + 16 * (chunk + (first ? 0 : Rows::steps)), kZeros);
  } else if (first) {
    Rows::template copy<0, Rows::steps>(rows, patch, pixel.y, pixel.x);
  } else {
    Rows::template copy<Rows::steps, 2 * Rows::steps>(rows, patch, pixel.y, pixel.x);
  }
}

/// Bytes from the rows of a tile to those of a unit.
template <class Rows>
__device__ __forceinline__ unsigned unit_offset(const Unit& unit) {
  return static_cast<unsigned>((unit.row * 2 * kTileWidth + unit.half * 8) * Rows::stride);
}

/// A unit's rows with the pixels as k: chunk c of 8 elements is {of[c / 2][c % 2], of[c / 2][2 + c % 2]}, the upper
/// and the lower pixels, as the second operand of a product, and of[i] 16 elements as the first.
template <class Rows>
struct PixelsSummed {
  unsigned of[Rows::steps][4];

  /// `rows` are those of the unit.
  __device__ __forceinline__ void load(mma::SharedAddress rows, int lane) {
    rows += static_cast<unsigned>((lane / 16 * kTileWidth + lane % 8) * Rows::stride + lane / 8 % 2 * 16);
#pragma unroll
    for (int i = 0; i < Rows::steps; ++i) mma::load_matrices_transposed(of[i], rows + 32 * i);
  }
};

/// A unit's rows with the pixels as columns: of[t][step], the upper and the lower pixels.
template <class Rows>
struct PixelColumns {
  unsigned of[2][Rows::steps][2];

  __device__ __forceinline__ void load(mma::SharedAddress rows, int lane) {
    constexpr int kChunks = 2 * Rows::steps;
#pragma unroll
    for (int i = 0; i < Rows::steps; ++i) {
      const int matrix = 4 * i + lane / 8;
      const int row = matrix / kChunks * kTileWidth + lane % 8;
      unsigned four[4];
      mma::load_matrices(four, rows + static_cast<unsigned>(row * Rows::stride + matrix % kChunks * 16));
#pragma unroll
      for (int m = 0; m < 4; ++m) of[(4 * i + m) / kChunks][(4 * i + m) % kChunks / 2][m % 2] = four[m];
    }
  }
};

/// Warps of a block that share its filters: the smallest power of two that has all, from 2 to 8.
inline int filter_warps_of(int filters) {
  return filters <= 2 * kWarpFilters ? 2 : filters <= 4 * kWarpFilters ? 4 : kWarps;
}

/// Kernels whose sums go to the workspace have the same blocks on every device.
inline unsigned summing_blocks(const Images& images) {
  return static_cast<unsigned>(narrow::splits_of(images.tiles));
}

}  // namespace warpscope::ops::batch_norm::recomputed
