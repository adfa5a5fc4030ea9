#pragma once
// A painted picture, and where it differs from the one before.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace warpscope::ui::paint {

inline constexpr int kTile = 16;  ///< pixels, along each side

constexpr std::size_t tiles_along(int pixels) {
  return static_cast<std::size_t>((pixels + kTile - 1) / kTile);
}

struct Picture {
  const std::uint32_t* pixels = nullptr;  ///< RGBA8, red in the lowest byte, rows from the top
  int width = 0, height = 0;
  /// For each tile of kTile x kTile pixels, row by row: 1 if it may differ from the picture before.
  std::span<const std::uint8_t> changed;
};

/// Pixels.
struct Area {
  int x, y, width, height;
  bool operator==(const Area&) const = default;
};

/// Areas that do not overlap and hold all that changed. Up to three unchanged tiles in a row between two that
/// changed are part of an area, since fewer areas are shown faster.
std::vector<Area> changed_areas(const Picture& picture);

}  // namespace warpscope::ui::paint
