#pragma once
// The host's choices for the variants `mma`: which tile, and how backward_weights is cut.

#include <cstdint>
#include <string>

#include "gpu/ops/op.h"

namespace warpscope::ops::conv2d::tensor_cores {

/// Tiles of forward and backward_input: 256x128, 128x128, 128x64, 64x64 and 128x16 elements of the result a
/// block.
enum class TileName : std::uint8_t { huge, large, medium, small, narrow };

/// What the choice of a tile depends on.
struct DeviceFigures {
  int multiprocessors;
  int shared_bytes;  ///< the most a block can have
};

DeviceFigures current_device();

/// The tile with the least estimated time for a result of `rows` x `columns` on `device`: large tiles read
/// less for each product, small ones keep all multiprocessors busy where the result is small, the narrow one
/// wastes least where there are few columns.
TileName choose_tile(std::int64_t rows, std::int64_t columns, const DeviceFigures& device);

/// Kernels of backward_weights, by how they read the two tensors.
enum class WeightsKernel : std::uint8_t {
  wide,     ///< 128x256, both 16 bytes at a time
  large,    ///< 128x128, both 16 bytes at a time
  small,    ///< 64x64, both 16 bytes at a time
  tall,     ///< 128x32, the plain one 16 bytes at a time, the shifted one by elements
  scalars,  ///< 64x64, both by elements
};

/// How backward_weights is laid out. One tensor's channels are the rows ("plain"); the other is read once per
/// tap, shifted by it, and its taps and channels are the columns. Blocks are split along the pixels. A
/// function only of the shape and the precision, so that workspace and launch agree whatever the device.
struct WeightsPlan {
  /// false: dy is plain and x shifted; true: x is plain and dy shifted, only of plain convolutions
  bool swapped = false;
  WeightsKernel kernel{};
  std::int64_t rows = 0;          ///< channels of the plain tensor
  std::int64_t columns = 0;       ///< taps times channels of the shifted tensor
  std::int64_t splits = 1;        ///< parts of the pixels; each writes its own partial result
  std::int64_t split_pixels = 0;  ///< pixels of a part, the last of which may be shorter
};

WeightsPlan plan_weights(const OpShape& shape, core::Precision precision);

/// Why the kernels cannot take `shape`, or "": their indices have 32 bits, their masks 15 a side of the
/// kernel.
std::string refuses(const OpShape& shape);

}  // namespace warpscope::ops::conv2d::tensor_cores
