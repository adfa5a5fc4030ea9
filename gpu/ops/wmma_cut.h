#pragma once
// How the product of the variants `wmma` is cut into tiles and parts: a function of the sizes and the precision only,
// so that workspace and launch agree, and results are the same on every GPU.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpu/core/types.h"
#include "gpu/ops/op.h"
#include "gpu/ops/planned_processors.h"

namespace warpscope::ops::wmma {

/// C[rows][columns], each a sum of `depth` products.
struct Sizes {
  int rows;
  int columns;
  int depth;
};

/// Tiles of C: one for each shape that a result can have.
enum class TileKind : std::uint8_t { wide, narrow, flat };

struct Extents {
  int rows;
  int columns;
};
constexpr Extents extents_of(TileKind kind) {
  if (kind == TileKind::wide) return {128, 64};
  return kind == TileKind::narrow ? Extents{128, 16} : Extents{16, 128};
}

/// The side of a fragment, in elements of C.
inline constexpr int kSide = 16;

/// Steps of k that a block has in shared memory at once.
inline constexpr int kDepthBytes = 64;

struct Cut {
  TileKind kind;
  int row_tiles;
  int column_tiles;
  int splits;       ///< parts of each sum
  int split_depth;  ///< of all but the last of them
};

/// The cut with tiles of `kind`: as many parts as make two blocks for each multiprocessor, none of them shorter than
/// what pays for adding it.
inline Cut cut_of(const Sizes& sizes, TileKind kind, core::Precision precision) {
  constexpr std::int64_t kLeastDepth = 256;
  const Extents extents = extents_of(kind);
  const std::int64_t step = kDepthBytes / (precision == core::Precision::tf32 ? 4 : 2);
  Cut cut{kind, static_cast<int>(divide_up(sizes.rows, extents.rows)),
          static_cast<int>(divide_up(sizes.columns, extents.columns)), 1, 0};
  const std::int64_t tiles = std::int64_t{cut.row_tiles} * cut.column_tiles;
  const std::int64_t most = std::max<std::int64_t>(sizes.depth / kLeastDepth, 1);
  const std::int64_t wanted = std::clamp<std::int64_t>(2 * kPlannedProcessors / tiles, 1, most);
  cut.split_depth = static_cast<int>(divide_up(divide_up(sizes.depth, wanted), step) * step);
  cut.splits = static_cast<int>(divide_up(sizes.depth, cut.split_depth));
  return cut;
}

/// What the parts take: none where a sum has one.
inline std::size_t parts_bytes(const Sizes& sizes, const Cut& cut) {
  if (cut.splits == 1) return 0;
  return sizeof(float) * static_cast<std::size_t>(cut.splits) * static_cast<std::size_t>(sizes.rows) *
         static_cast<std::size_t>(sizes.columns);
}

}  // namespace warpscope::ops::wmma
