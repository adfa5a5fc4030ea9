#pragma once
// The host's choices for the variants `implicit_gemm`: which tile, and how backward_weights is cut. Functions
// only of the shape, so that workspace and launch agree whatever the device; the numbers were chosen for 132
// multiprocessors.

#include <cstdint>
#include <string>

#include "gpu/ops/op.h"

namespace warpscope::ops::conv2d {

/// The tiles of implicit_gemm_tile.cuh: 128x128, 128x64, 64x64, 64x32 and 128x32 elements of the result a
/// block.
enum class TileName : std::uint8_t { large, medium, small, slim, tall };

/// The tile (never tall) with the least estimated time for a result of `rows` x `columns` in forward and
/// backward_input: large tiles need fewer reads per product, small ones keep all multiprocessors busy where
/// the result is small.
TileName choose_tile(std::int64_t rows, std::int64_t columns);

/// Tiles in a result of `rows` x `columns`.
std::int64_t count_tiles(TileName tile, std::int64_t rows, std::int64_t columns);

/// How backward_weights is laid out. One tensor's channels are the rows ("plain"); the other is read once per
/// tap, shifted by it, and its taps and channels are the columns. Blocks are split along the pixels.
struct WeightsPlan {
  /// false: dy is plain and x shifted; true: x is plain and dy shifted, only of plain convolutions
  bool swapped = false;
  TileName tile{};                ///< never slim: splits keep the multiprocessors busy
  std::int64_t rows = 0;          ///< channels of the plain tensor
  std::int64_t columns = 0;       ///< taps times channels of the shifted tensor
  std::int64_t splits = 1;        ///< parts of the pixels; each writes its own partial result
  std::int64_t split_pixels = 0;  ///< pixels of a part, the last of which may be shorter
};

WeightsPlan plan_weights(const OpShape& shape);

/// Why the kernels' 32-bit indices cannot take `shape`, or "".
std::string refuses_large(const OpShape& shape);

}  // namespace warpscope::ops::conv2d
