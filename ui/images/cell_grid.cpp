#include "ui/images/cell_grid.h"

#include <algorithm>
#include <cmath>

#include "ui/images/grid_layout.h"

namespace warpscope::ui::images {

Point CellGrid::place(int cell) const {
  return {space.edge + cell % columns * (cell_width + space.gap), space.edge + cell / columns * row_pitch()};
}

std::optional<int> CellGrid::hit(Point point) const {
  const int x = point.x - space.edge, y = point.y - space.edge;
  if (x < 0 || y < 0) return std::nullopt;
  const int column = x / (cell_width + space.gap), row = y / row_pitch();
  const bool between = x % (cell_width + space.gap) >= cell_width || y % row_pitch() >= cell_height();
  if (between || column >= columns) return std::nullopt;
  const int cell = row * columns + column;
  return cell < space.count ? std::optional<int>(cell) : std::nullopt;
}

int CellGrid::first_visible(int top) const {
  return std::clamp((top - space.edge) / row_pitch() * columns, 0, space.count);
}

int CellGrid::end_visible(int top) const {
  const int row = std::max(0, top + space.height - space.edge + row_pitch() - 1) / row_pitch();
  return std::clamp(row * columns, 0, space.count);
}

CellGrid make_cells(const CellSpace& space, int zoom) {
  CellGrid grid;
  grid.space = space;
  grid.zoom = std::clamp(zoom, 1, kLargestZoom);
  const int least = std::max(space.least_width, grid.zoom * space.image_width);
  const int room = space.width - 2 * space.edge + space.gap;
  grid.columns = std::max(1, room / (least + space.gap));
  grid.cell_width = std::max(least, room / grid.columns - space.gap);
  return grid;
}

int fit_cells(const CellSpace& space) {
  for (int zoom = kLargestZoom; zoom > 1; --zoom) {
    const CellGrid grid = make_cells(space, zoom);
    if (2 * space.edge + zoom * space.image_width > space.width || grid.row_pitch() > space.height) continue;
    const float steps = std::max(0.0f, static_cast<float>(zoom) / space.scale - 2), wanted = 5 + 4 * steps;
    if (static_cast<float>(space.count) <= wanted) {
      if (grid.content_height() <= space.height) return zoom;  // so few are seen all at once
      continue;
    }
    const float seen = static_cast<float>(grid.columns) * static_cast<float>(space.height) /
                       static_cast<float>(grid.row_pitch());
    if (seen >= wanted) return zoom;
  }
  return 1;
}

}  // namespace warpscope::ui::images
