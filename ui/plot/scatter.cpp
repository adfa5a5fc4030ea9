#include "ui/plot/scatter.h"

#include <algorithm>
#include <cmath>

#include "ui/plot/draw_curve.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui::plot {
namespace {

constexpr double kAir = 0.1;  // of the range, on each side

struct Planes {
  Axis x, y;
  ImVec2 min, max;  // of the area
};

Planes arrange(const Frame& frame, ImVec2 min, ImVec2 max, const Scatter& scatter) {
  const float s = frame.scale;
  const ScatterRange range = scatter_range(scatter);
  const ImVec2 from(std::floor(min.x + 48 * s), std::floor(min.y + 20 * s));
  const ImVec2 to(std::floor(max.x - 8 * s), std::floor(max.y - 22 * s));
  return {{range.low_x, range.high_x, from.x, to.x, scatter.logarithmic_x},
          {range.low_y, range.high_y, to.y, from.y, false},
          from,
          to};
}

void draw_axes(const Frame& frame, const Scatter& scatter, const Planes& planes) {
  const float s = frame.scale, line = hairline(frame);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ImFont* const font = frame.fonts.small;
  const ImU32 muted = frame.palette.muted;
  const int rows = std::max(2, static_cast<int>((planes.max.y - planes.min.y) / (36 * s)));
  draw_y_grid(frame, ticks(planes.y, rows, Unit::value), planes.y, planes.min.x, planes.max.x, 6 * s);
  const float name = text_width(font, scatter.x_label);
  const int columns = std::max(2, static_cast<int>((planes.max.x - planes.min.x) / (64 * s)));
  float free = planes.min.x - 4 * s;  // labels end here so far
  for (const Tick& tick : ticks(planes.x, columns, Unit::value)) {
    const float pixel = std::floor(planes.x.to_pixel(tick.value)), half = text_width(font, tick.label) / 2;
    list->AddRectFilled(ImVec2(pixel, planes.min.y), ImVec2(pixel + line, planes.max.y), frame.palette.grid);
    if (pixel + half > planes.max.x - name - 8 * s || pixel - half < free) continue;
    draw_text(list, font, pixel - half, planes.max.y + 16 * s, muted, tick.label);
    free = pixel + half + 6 * s;
  }
  draw_text(list, font, planes.max.x - name, planes.max.y + 16 * s, muted, scatter.x_label);
  draw_text(list, font, planes.min.x - 44 * s, planes.min.y - 8 * s, muted, scatter.y_label);
}

/// `low` and `high` with air around them.
void widen(double& low, double& high, bool logarithmic) {
  if (logarithmic) {
    const double air = std::max(std::pow(high / low, kAir), 1.25);
    low /= air;
    high *= air;
  } else {
    const double air = high > low ? kAir * (high - low) : std::max(0.5, 0.01 * std::fabs(high));
    low -= air;
    high += air;
  }
}

}  // namespace

ScatterRange scatter_range(const Scatter& scatter) {
  if (scatter.points.empty()) return {scatter.logarithmic_x ? 0.1 : 0.0, 1, 0, 1};
  const auto by_x = [](const ScatterPoint& a, const ScatterPoint& b) { return a.x < b.x; };
  const auto by_y = [](const ScatterPoint& a, const ScatterPoint& b) { return a.y < b.y; };
  const auto [left, right] = std::minmax_element(scatter.points.begin(), scatter.points.end(), by_x);
  const auto [bottom, top] = std::minmax_element(scatter.points.begin(), scatter.points.end(), by_y);
  ScatterRange range{left->x, right->x, bottom->y, top->y};
  widen(range.low_x, range.high_x, scatter.logarithmic_x);
  widen(range.low_y, range.high_y, false);
  return range;
}

std::optional<std::size_t> draw_scatter(const Frame& frame, const char* name, ImVec2 size,
                                        const Scatter& scatter) {
  const float s = frame.scale;
  size = ImVec2(std::max(size.x, 96 * s), std::max(size.y, 64 * s));
  const ImVec2 min = ImGui::GetCursorScreenPos();
  const bool clicked = hit_area(name, size);
  trace_item(name);
  const Planes planes = arrange(frame, min, ImVec2(min.x + size.x, min.y + size.y), scatter);
  draw_axes(frame, scatter, planes);
  const float radius = 4.5f * s, reach = 3 * radius;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  std::optional<std::size_t> under;
  float nearest = ImGui::IsItemHovered() ? reach * reach : -1;
  for (std::size_t i = 0; i < scatter.points.size(); ++i) {
    const ScatterPoint& point = scatter.points[i];
    const ImVec2 at(planes.x.to_pixel(point.x), planes.y.to_pixel(point.y));
    draw_point(frame, at, point.color, point.shape, radius);
    if (point.marked)
      ImGui::GetWindowDrawList()->AddCircle(at, 1.8f * radius, frame.palette.accent, 20, 1.5f * s);
    const float dx = at.x - mouse.x, dy = at.y - mouse.y;
    if (dx * dx + dy * dy > nearest) continue;
    nearest = dx * dx + dy * dy;
    under = i;
  }
  if (!under) return std::nullopt;
  const ScatterPoint& point = scatter.points[*under];
  draw_point(frame, ImVec2(planes.x.to_pixel(point.x), planes.y.to_pixel(point.y)), point.color, point.shape,
             1.5f * radius);
  pointer_tip(frame, point.tip);
  return clicked ? under : std::nullopt;
}

}  // namespace warpscope::ui::plot
