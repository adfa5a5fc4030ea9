#pragma once
// A tile of the picture while the CPU draws it.

#include <cstdint>

#include "ui/paint/raster.h"

namespace warpscope::ui::paint {

/// Four pixels beside one another, as vector instructions take them.
using Floats = float __attribute__((vector_size(16)));
using Ints = std::int32_t __attribute__((vector_size(16)));
inline constexpr int kLanes = 4;

/// Their colours.
struct Four {
  Floats r, g, b, a;
};

/// Blends triangles into the tile, four pixels at a time: colours in floats, a plane to each channel.
class TileCanvas {
 public:
  void clear(const Colour& colour);
  /// The pixels of `bounds`, of the picture. `left`, `top`: the tile's first pixel in the picture.
  void fill(const Bounds& bounds, const Colour& plain, int left, int top);
  void draw(const Scene& scene, const Piece& piece, int left, int top);
  /// What of the tile lies in the picture.
  void write(std::uint32_t* pixels, int width, int height, int left, int top) const;

 private:
  static constexpr int kFours = kTile / kLanes;
  void cover(const Four& colour);

  Four rows_[kTile][kFours];
};

}  // namespace warpscope::ui::paint
