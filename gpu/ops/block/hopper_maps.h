#pragma once
// What the wide blocks' launches share on the host: tensor maps, the pixel grid, checks of shapes.
//
// The unit of all products is a patch, 8x8 pixels of one image: with 64 channels of 16 bits a pixel is a row
// of 128 bytes and a row of the patch 1024 bytes, one period of the 128-byte swizzle. So a tap's shift by
// whole rows of the patch is a shift of the tile's start that keeps the swizzle, and a box of 8 + taps - 1
// rows serves all taps of one column.

#include <cstddef>
#include <cstdint>

#include <cuda.h>

#include "gpu/core/types.h"
#include "gpu/ops/op.h"

namespace warpscope::ops::block::hopper {

inline constexpr int kPatchSide = 8;
inline constexpr int kPatchPixels = kPatchSide * kPatchSide;
inline constexpr int kSlice = 64;     ///< channels of a copied box
inline constexpr int kColumns = 128;  ///< of a product's tile

inline constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// The patches of a batch of images, by image, then row by row. Patches at the right and the lower edge hang
/// over where the sides are no multiples of 8.
struct Grid {
  int images;
  int height;
  int width;
  int down;    ///< patches of an image's column
  int across;  ///< patches of an image's row

  int patches() const { return images * down * across; }
};

Grid grid_of(const OpShape& shape);

/// Activations (images, height, width, channels); interleaved: (images, 2 height, 2 width, channels), whose
/// four parities of rows and columns are read as planes of height x width.
struct Pixels {
  const void* data;
  int images;
  int height;
  int width;
  int channels;
  bool interleaved;
};

/// Boxes of 64 channels, 8 columns and `rows` rows of one image and row parity, with the 128-byte swizzle.
/// Dimensions: (column parity, channel), column, row parity, row, image.
CUtensorMap map_pixels(const Pixels& pixels, int rows, core::Precision precision);

/// Weights by filter, tap and channel; `summed`: made by sum_weights(), with the taps outermost.
struct Filters {
  const void* data;
  int filters;
  int taps;
  int channels;
  bool summed;
};

/// Boxes of 64 channels and `filters` filters of one tap, with the 128-byte swizzle. Dimensions: channel,
/// filter, tap.
CUtensorMap map_filters(const Filters& weights, int filters, core::Precision precision);

int multiprocessors();

/// What all three ops ask of a shape.
bool is_wide(const OpShape& shape);

/// Elements of the convolution's output, and bytes of these in 16 bits, rounded up to where the next tensor
/// may begin.
std::int64_t convolution_elements(const OpShape& shape);
std::size_t convolution_bytes(const OpShape& shape);
/// Bytes of the summed weights of an upsampled block, rounded up likewise.
std::size_t summed_bytes(const OpShape& shape);

}  // namespace warpscope::ops::block::hopper
