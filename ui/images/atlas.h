#pragma once
// Where each image lies in the one texture that holds them all. Images stand side by side without gaps in
// bands of three rows: originals, reconstructions, differences. One band holds as many columns as the
// texture may be wide.
//
//   band 0:  original 0 | original 1 | ...       each tile width x height pixels
//            now 0      | now 1      | ...
//            difference 0 | ...
//   band 1:  original `columns` | ...

#include <algorithm>
#include <cstddef>

#include "ui/images/conversion.h"

namespace warpscope::ui::images {

/// The rows of a band.
enum Row : int { kOriginal, kNow, kDifference, kRows };

struct Point {
  int x = 0;
  int y = 0;

  bool operator==(const Point&) const = default;
};

struct Atlas {
  int count = 0;  ///< images in the texture
  int height = 0;
  int width = 0;
  int columns = 1;  ///< images in a band

  WARPSCOPE_HOST_DEVICE int bands() const { return (count + columns - 1) / columns; }
  WARPSCOPE_HOST_DEVICE int texture_width() const { return columns * width; }
  WARPSCOPE_HOST_DEVICE int texture_height() const { return bands() * kRows * height; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(texture_width()) * static_cast<std::size_t>(texture_height()) *
           sizeof(Rgba);
  }
  /// The top left pixel of a tile.
  WARPSCOPE_HOST_DEVICE Point tile(int row, int image) const {
    return {image % columns * width, (image / columns * kRows + row) * height};
  }

  bool operator==(const Atlas&) const = default;
};

/// The atlas of a batch. Images that do not fit into a texture of `largest` x `largest` pixels are left
/// out.
inline Atlas make_atlas(int count, int height, int width, int largest) {
  const int columns = std::min(count, largest / width);
  const int bands = largest / (kRows * height);
  return {std::min(count, columns * bands), height, width, std::max(columns, 1)};
}

}  // namespace warpscope::ui::images
