#pragma once
// Where images stand in a panel, in whole framebuffer pixels, so that every image pixel covers a square of the same
// whole number of screen pixels. What does not fit below is scrolled.
//
// Grid      a batch, also where the room is too small for two pixels and larger than one needs. Versions of an image
//           stand below each other in a column (original, now, difference) with a caption below; as many columns as
//           fit side by side make a band, and bands stand below each other.
// CellGrid  a long list: rows of cells that share the width, each an image with a caption below.

#include <optional>

#include "ui/images/atlas.h"

namespace warpscope::ui::images {

/// The room and the sizes of a Grid, in framebuffer pixels.
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
  /// The size of all columns and bands.
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

/// The room and the sizes of a CellGrid, in framebuffer pixels.
struct CellSpace {
  int width = 0;
  int height = 0;
  int image_width = 0;  ///< of one image at zoom 1
  int image_height = 0;
  int count = 0;           ///< cells
  int gap = 0;             ///< between cells
  int edge = 0;            ///< left of the cells, above and below them: room for outlines
  int caption_height = 0;  ///< below an image
  int least_width = 0;     ///< narrowest cell whose caption can be read
  float scale = 1;         ///< framebuffer pixels per design pixel
};

struct CellGrid {
  CellSpace space;
  int zoom = 1;        ///< framebuffer pixels per image pixel
  int columns = 1;     ///< cells of a row; the last may have fewer
  int cell_width = 0;  ///< without the gap

  int rows() const { return (space.count + columns - 1) / columns; }
  int cell_height() const { return zoom * space.image_height + space.caption_height; }
  int row_pitch() const { return cell_height() + space.gap; }
  int content_height() const { return 2 * space.edge + rows() * row_pitch(); }
  /// The top left corner of a cell, which is that of its image, relative to the grid's.
  Point place(int cell) const;
  /// The cell at a point relative to the grid's top left corner, if there is one.
  std::optional<int> hit(Point point) const;
  /// The first cell of the rows that are seen when `top` is scrolled to, and the one after the last.
  int first_visible(int top) const;
  int end_visible(int top) const;
};

/// The grid at a given zoom. Images that are too wide for the room make one column.
CellGrid make_cells(const CellSpace& space, int zoom);

/// The largest zoom at which enough cells are seen at once: five at twice the design size, and four more for
/// each step of size above it, since larger images are worth it only where there is room. Fewer images are
/// all seen. 1 if no zoom is small enough.
int fit_cells(const CellSpace& space);

}  // namespace warpscope::ui::images
