#pragma once
// Where the images of a batch stand in the panel, in whole framebuffer pixels. Every image pixel covers a square of the
// same whole number of screen pixels, but where the room is too small for two and larger than one needs. Versions of an
// image stand below each other in a column (original, now, difference) with a caption below; as many columns as fit
// side by side make a band. Bands stand below each other, and what does not fit is scrolled.

#include <optional>

#include "ui/images/atlas.h"

namespace warpscope::ui::images {

/// The room and the sizes, in framebuffer pixels.
struct GridSpace {
  int width = 0;
  int height = 0;
  int image_width = 0;  ///< of one image at zoom 1
  int image_height = 0;
  int count = 0;           ///< images
  int rows = kRows;        ///< versions of each
  int gap = 0;             ///< between columns
  int row_gap = 0;         ///< between the rows of a band
  int band_gap = 0;        ///< between bands
  int caption_height = 0;  ///< below a column
  int caption_width = 0;   ///< narrowest column that a caption fits into
  float scale = 1;         ///< framebuffer pixels per design pixel
};

/// A pixel of an image, seen at a place of the grid.
struct GridHit {
  int image = 0;
  int row = 0;
  int x = 0;
  int y = 0;
};

struct Grid {
  GridSpace space;
  float zoom = 1;   ///< framebuffer pixels per image pixel
  int columns = 0;  ///< in a band; the last may have fewer
  int bands = 0;

  int column_width() const;
  int image_width() const;
  int row_height() const;
  int band_height() const;
  /// Of all columns and bands.
  int content_width() const;
  int content_height() const;
  /// Images that are seen whole without scrolling.
  int visible_images() const;
  /// The top left corner of a tile, of a caption (row space.rows), relative to the grid's.
  Point place(int row, int image) const;
  /// The image pixel at a point relative to the grid's top left corner, if there is one.
  std::optional<GridHit> hit(Point point) const;
};

constexpr int kLargestZoom = 32;

/// The next whole zoom.
int larger_zoom(float zoom);
int smaller_zoom(float zoom);

/// The grid at a given zoom.
Grid make_grid(const GridSpace& space, float zoom);

/// The largest zoom at which a band fits into the height and enough images are seen at once:
/// at least six, and three more for each whole step of size above three times the design size, since larger
/// images are worth it only where there is room. A whole number, but below 2, where it goes by quarters: rather pixels
/// of different sizes than small pictures in a large room. 1 if none is small enough.
float fit_zoom(const GridSpace& space);

}  // namespace warpscope::ui::images
