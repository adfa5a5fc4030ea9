#include "ui/panels/confusion_layout.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace warpscope::ui {
namespace {

// Design pixels.
constexpr float kGap = 8, kLeastCellWidth = 14, kLeastCellHeight = 13, kMostWidth = 88, kMostHeight = 48;
constexpr float kMostName = 112, kShortName = 64, kMostTurned = 88, kShortTurned = 44;

// Rounds down to framebuffer pixels, so that all cells are equally large.
float floor_to_pixel(float length, const MatrixSpace& space) {
  return std::max(space.finest, std::floor(length / space.finest) * space.finest);
}

// What stands beside the cells along one axis, in pixels.
struct Margins {
  float before = 0;  // names
  float after = 0;   // sums and rates
};

float cell_size(float room, const Margins& margins, int classes) {
  return (room - margins.before - margins.after) / static_cast<float>(classes);
}

MatrixLayout colours_only(const MatrixSpace& space) {
  MatrixLayout layout;
  const float s = space.scale, most = 24 * s;
  layout.left = layout.top = std::floor(space.line + kGap / 2 * s);  // "truth" and "predicted"
  layout.cell_width =
      floor_to_pixel(std::min(most, cell_size(space.width, {layout.left, 0}, space.classes)), space);
  layout.cell_height =
      floor_to_pixel(std::min(most, cell_size(space.height, {layout.top, 0}, space.classes)), space);
  layout.width = layout.cells_right(space.classes);
  layout.height = layout.cells_bottom(space.classes);
  return layout;
}

// The first arrangement that leaves room for cells of the least size, or else the last.
Margins choose(const std::array<Margins, 4>& ways, float room, int classes, float least) {
  const auto fits = [&](const Margins& way) { return cell_size(room, way, classes) >= least; };
  const auto found = std::find_if(ways.begin(), ways.end(), fits);
  return found == ways.end() ? ways.back() : *found;
}

void arrange_columns(const MatrixSpace& space, MatrixLayout& layout) {
  const float s = space.scale, gap = kGap * s, least = kLeastCellWidth * s;
  const float full = std::max(std::min(space.longest_name, kMostName * s), space.label_width) + gap;
  const float cut = std::min(space.longest_name, kShortName * s) + gap;
  const float figures = space.sum_width + space.rate_width + 2 * gap;
  const Margins way =
      choose({{{full, figures}, {cut, figures}, {full, 0}, {cut, 0}}}, space.width, space.classes, least);
  layout.cell_width =
      floor_to_pixel(std::clamp(cell_size(space.width, way, space.classes), least, kMostWidth * s), space);
  layout.left = std::ceil(way.before);
  layout.name_width = layout.left - gap;
  layout.width = layout.cells_right(space.classes);
  if (way.after == 0) return;
  layout.sum_right = layout.width + gap + space.sum_width;
  layout.recall_right = layout.width = layout.sum_right + gap + space.rate_width;
}

void arrange_rows(const MatrixSpace& space, MatrixLayout& layout) {
  const float s = space.scale, gap = kGap / 2 * s, least = kLeastCellHeight * s;
  layout.turned = space.longest_name + gap > layout.cell_width;
  // Upright names take at least two lines, since the titles of the sides are written beside them.
  const auto names = [&](float most) {
    const float length = layout.turned ? std::min(space.longest_name, most) : 0;
    return std::ceil(std::max(length, 2 * space.line) + gap);
  };
  const float full = names(kMostTurned * s), cut = names(kShortTurned * s);
  const float figures = layout.name_width >= space.label_width ? 2 * space.line + gap : 0;
  const Margins way =
      choose({{{full, figures}, {cut, figures}, {full, 0}, {cut, 0}}}, space.height, space.classes, least);
  layout.cell_height =
      floor_to_pixel(std::clamp(cell_size(space.height, way, space.classes), least, kMostHeight * s), space);
  layout.top = way.before;
  layout.name_height = layout.turned ? layout.top - gap : space.line;
  layout.height = layout.cells_bottom(space.classes);
  if (way.after == 0) return;
  layout.sum_top = layout.height + gap;
  layout.precision_top = layout.sum_top + space.line;
  layout.height = layout.precision_top + space.line;
}

}  // namespace

MatrixLayout arrange_matrix(const MatrixSpace& space) {
  if (space.classes > kMostNamedClasses) return colours_only(space);
  MatrixLayout layout;
  arrange_columns(space, layout);
  arrange_rows(space, layout);
  return layout;
}

std::optional<MatrixHit> hit_matrix(const MatrixLayout& layout, int classes, float x, float y) {
  if (x < 0 || y < 0 || x >= layout.width || y >= layout.height) return std::nullopt;
  const auto index = [classes](float offset, float size) {
    const int at = static_cast<int>(std::floor(offset / size));
    return at >= 0 && at < classes ? at : -1;
  };
  const MatrixHit hit{index(y - layout.top, layout.cell_height), index(x - layout.left, layout.cell_width)};
  return hit.truth < 0 && hit.predicted < 0 ? std::nullopt : std::optional<MatrixHit>(hit);
}

}  // namespace warpscope::ui
