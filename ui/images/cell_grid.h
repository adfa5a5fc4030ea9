#pragma once
// Where the cells of a long list of images stand: rows of cells that share the width, each an image with a
// caption below, in whole framebuffer pixels, so that every image pixel covers a square of the same whole
// number of screen pixels. What does not fit below is scrolled.

#include <optional>

#include "ui/images/atlas.h"

namespace warpscope::ui::images {

/// The room and the sizes, in framebuffer pixels.
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
