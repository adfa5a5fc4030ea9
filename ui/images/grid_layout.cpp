#include "ui/images/grid_layout.h"

#include <algorithm>
#include <cmath>

namespace warpscope::ui::images {

int Grid::image_width() const {
  return static_cast<int>(zoom * static_cast<float>(space.image_width));
}

int Grid::row_height() const {
  return static_cast<int>(zoom * static_cast<float>(space.image_height));
}

int Grid::column_width() const {
  return std::max(image_width(), space.caption_width);
}

int Grid::band_height() const {
  return space.rows * row_height() + (space.rows - 1) * space.row_gap + space.caption_height;
}

int Grid::content_width() const {
  return columns * (column_width() + space.gap) - space.gap;
}

int Grid::content_height() const {
  return bands * (band_height() + space.band_gap) - space.band_gap;
}

int Grid::visible_images() const {
  const int whole = std::max(1, (space.height + space.band_gap) / (band_height() + space.band_gap));
  return std::min(std::min(bands, whole) * columns, space.count);
}

Point Grid::place(int row, int image) const {
  const int band = image / columns;
  const int column = image % columns;
  return {column * (column_width() + space.gap), band * (band_height() + space.band_gap) +
                                                     row * (row_height() + space.row_gap) -
                                                     (row == space.rows ? space.row_gap : 0)};
}

std::optional<GridHit> Grid::hit(Point point) const {
  if (point.x < 0 || point.y < 0 || columns == 0) return std::nullopt;
  const int band = point.y / (band_height() + space.band_gap);
  const int column = point.x / (column_width() + space.gap);
  const int image = band * columns + column;
  if (column >= columns || image >= space.count) return std::nullopt;
  for (int row = 0; row < space.rows; ++row) {
    const Point corner = place(row, image);
    const int x = point.x - corner.x;
    const int y = point.y - corner.y;
    if (x < 0 || y < 0 || x >= image_width() || y >= row_height()) continue;
    const auto pixel = [this](int at, int most) {
      return std::min(static_cast<int>(static_cast<float>(at) / zoom), most - 1);
    };
    return GridHit{image, row, pixel(x, space.image_width), pixel(y, space.image_height)};
  }
  return std::nullopt;
}

int larger_zoom(float zoom) {
  return std::min(static_cast<int>(std::floor(zoom)) + 1, kLargestZoom);
}

int smaller_zoom(float zoom) {
  return std::max(static_cast<int>(std::ceil(zoom)) - 1, 1);
}

Grid make_grid(const GridSpace& space, float zoom) {
  Grid grid{space, std::clamp(zoom, 1.0f, static_cast<float>(kLargestZoom)), 1, 1};
  const int fit = (space.width + space.gap) / (grid.column_width() + space.gap);
  grid.columns = std::clamp(fit, 1, std::max(1, space.count));
  grid.bands = std::max(1, (space.count + grid.columns - 1) / grid.columns);
  return grid;
}

float fit_zoom(const GridSpace& space) {
  for (auto zoom = static_cast<float>(kLargestZoom); zoom > 1; zoom -= zoom > 2 ? 1.0f : 0.25f) {
    const Grid grid = make_grid(space, zoom);
    const int steps = static_cast<int>(std::floor(zoom / space.scale)) - 3;
    const int wanted = std::min(space.count, 6 + 3 * std::max(0, steps));
    if (grid.band_height() <= space.height && grid.visible_images() >= wanted) return zoom;
  }
  return 1;
}

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
