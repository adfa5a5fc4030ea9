#pragma once
// What the wide layers' launches share on the host: tensor maps, the pixel grid, checks of shapes.
//
// The unit of all products is a patch, 8x8 pixels of one image: with 64 channels of 16 bits, or 32 of FP32, a
// pixel is a row of 128 bytes and a row of the patch 1024 bytes, one period of the 128-byte swizzle. So a
// tap's shift by whole rows of the patch is a shift of the tile's start that keeps the swizzle, and a box of
// 8 + taps - 1 rows serves all taps of one column. In TF32 the copy engine rounds on the way, to nearest.

#include <cstddef>
#include <cstdint>

#include <cuda.h>

#include "gpu/core/types.h"
#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused::hopper {

inline constexpr int kPatchSide = 8;
inline constexpr int kPatchPixels = kPatchSide * kPatchSide;
inline constexpr int kRowBytes = 128;    ///< of a copied box: a slice of a pixel's or a filter's channels
inline constexpr int kSlice = 64;        ///< channels of a slice in 16 bits
inline constexpr int kColumns = 128;     ///< of a product's tile
inline constexpr int kSlimColumns = 64;  ///< of one where the output has no more channels

/// Columns of the tiles for so many channels of the output, where the kernels have both kinds.
inline constexpr int columns_of(int channels) {
  return channels <= kSlimColumns ? kSlimColumns : kColumns;
}

/// Bytes of an element; of the three precisions.
inline constexpr int element_bytes(core::Precision precision) {
  return precision == core::Precision::tf32 ? 4 : 2;
}
/// Channels of a slice.
inline constexpr int slice_of(core::Precision precision) {
  return kRowBytes / element_bytes(precision);
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

Grid grid_of(const ChainShape& shape);

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

/// Boxes of a slice of channels, 8 columns and `rows` rows of one image and row parity, with the 128-byte
/// swizzle. Dimensions: (column parity, channel), column, row parity, row, image.
CUtensorMap map_pixels(const Pixels& pixels, int rows, core::Precision precision);

/// Activations (texts, positions, channels) of a convolution of one dimension: a patch is eight positions of eight
/// texts, so that the taps of a position are rows of it as those of a column are in two dimensions.
struct Lines {
  const void* data;
  int texts;
  int positions;
  int channels;
};

Grid grid_of(const Lines& lines);

/// Boxes of a slice of channels, 8 texts and `rows` positions, with the 128-byte swizzle. Dimensions as those of
/// map_pixels(): channel, text, one, position, one.
CUtensorMap map_lines(const Lines& lines, int rows, core::Precision precision);

/// Positions of a window where lines are pooled. A patch then has eight windows of eight texts: 24 positions.
inline constexpr int kLineWindow = 3;

/// Small images, of at most 4x4 pixels: a patch is two columns of four rows of eight images, the images innermost, so
/// that a row of it is 2048 bytes and a tap's shift by whole rows keeps the swizzle. A patch of one such image would
/// be empty but for a quarter. `Grid::images` counts groups of eight.
inline constexpr int kSmallSide = 4;
inline constexpr int kSmallColumns = 2;
inline constexpr int kSmallImages = 8;

Grid small_grid_of(const ChainShape& shape);

/// Boxes of a slice of channels, 8 images, `columns` columns and `rows` rows, with the 128-byte swizzle. Dimensions:
/// channel, image, column, row, one. Not interleaved.
CUtensorMap map_small(const Pixels& pixels, int columns, int rows, core::Precision precision);

/// Bundles of eight images of any size: a patch is 4x4 pixels of them, the images innermost as above. A shift by rows
/// or columns keeps the swizzle, so that one box of 6x6 pixels serves all nine taps. `Grid::images` counts bundles.
inline constexpr int kBundleSide = 4;
inline constexpr int kBundlePixels = kBundleSide * kBundleSide * kSmallImages;

Grid bundle_grid_of(const ChainShape& shape);

/// Weights by filter, tap and channel; `arranged`: by hopper_prepare.h, with the taps outermost.
struct Filters {
  const void* data;
  int filters;
  int taps;
  int channels;
  bool arranged;
};

/// Boxes of a slice of channels and `filters` filters of one tap, with the 128-byte swizzle. Dimensions:
/// channel, filter, tap.
CUtensorMap map_filters(const Filters& weights, int filters, core::Precision precision);

/// Boxes of a tensor of `rank` dimensions, with the 128-byte swizzle. `sizes` in elements, `strides` in bytes, of all
/// dimensions but the innermost. Throws core::Error.
CUtensorMap map_tiled(const void* data, unsigned rank, const cuuint64_t* sizes, const cuuint64_t* strides,
                      const cuuint32_t* box, core::Precision precision);

/// A function of the driver, found by the runtime: the program does not link to the driver. Throws core::Error where it
/// is missing.
void* driver_function(const char* name);

/// What tensor maps call the elements of a precision.
CUtensorMapDataType data_type(core::Precision precision);

/// Throws core::Error unless a tensor map was made.
void check_map(CUresult status);

int multiprocessors();

/// Blocks that leave moments, at most: no GPU of 9.0 has more multiprocessors.
inline constexpr int kMostSummingBlocks = 144;

/// What all three ops ask of a shape.
bool is_wide(const ChainShape& shape);

/// is_wide() with images of at most 4x4 pixels, without pooling or upsampling.
bool is_small(const ChainShape& shape);

/// A convolution of one dimension with 3, 5 or 7 taps, of channels in multiples of 64, without pooling or upsampling.
bool is_line(const ChainShape& shape);

/// Positions of the output, where is_line().
int line_outputs(const ChainShape& shape);
/// Zeros before the first position, where is_line().
int line_padding(const ChainShape& shape);

/// Elements of the convolution's output, and bytes of these, rounded up to where the next tensor may begin.
std::int64_t convolution_elements(const ChainShape& shape);
std::size_t convolution_bytes(const ChainShape& shape, core::Precision precision);
/// Bytes of arranged weights, of an upsampled layers summed ones; rounded up likewise.
std::size_t arranged_bytes(const ChainShape& shape, core::Precision precision);

}  // namespace warpscope::ops::conv2d::fused::hopper
