#include "ui/plot/chart.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ui/plot/draw_curve.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui::plot {
namespace {

struct Area {
  float left = 0, right = 0, top = 0, bottom = 0;
};

Axis x_axis(const Chart& chart, const Area& area) {
  return {chart.x.low, chart.x.high, area.left, area.right, chart.x.logarithmic};
}

Axis y_axis(const Chart& chart, const Area& area) {
  return {chart.y.low, chart.y.high, area.bottom, area.top, chart.y.logarithmic};
}

int wanted_y_ticks(const Frame& frame, const Area& area) {
  return std::max(2, static_cast<int>((area.bottom - area.top) / (32 * frame.scale)));
}

// Left of the area stand the labels of y, below it those of x; above it the marks' words.
Area arrange(const Frame& frame, ImVec2 min, ImVec2 max, const Chart& chart) {
  const float s = frame.scale;
  Area area;
  area.right = std::floor(max.x - 4 * s);
  area.top = std::floor(min.y + 18 * s);
  area.bottom = std::floor(max.y - 20 * s);
  float label = text_width(frame.fonts.small, chart.y_label);
  for (const Tick& tick : ticks(y_axis(chart, area), wanted_y_ticks(frame, area), Unit::value)) {
    label = std::max(label, text_width(frame.fonts.small, tick.label));
  }
  area.left = std::floor(min.x + label + 8 * s);
  return area;
}

void draw_grid(const Frame& frame, const Chart& chart, const Area& area) {
  const float s = frame.scale;
  auto* const list = ImGui::GetWindowDrawList();
  const ImFont* const font = frame.fonts.small;
  const Axis x = x_axis(chart, area), y = y_axis(chart, area);
  // At the top stands the axis's name.
  draw_y_grid(frame, ticks(y, wanted_y_ticks(frame, area), Unit::value), y, area.left, area.right, 6 * s,
              area.top + 8 * s);
  draw_text(list, font, area.left - 6 * s - text_width(font, chart.y_label), area.top - 5 * s,
            frame.palette.muted, chart.y_label);
  const float name_left = area.right - text_width(font, chart.x_label);
  const int wanted = std::max(2, static_cast<int>((area.right - area.left) / (64 * s)));
  float free_from = area.left - 6 * s;
  for (const Tick& tick : ticks(x, wanted, Unit::value)) {
    const float pixel = std::floor(x.to_pixel(tick.value)), width = text_width(font, tick.label);
    list->AddRectFilled(ImVec2(pixel, area.top), ImVec2(pixel + hairline(frame), area.bottom),
                        frame.palette.grid);
    const float at = std::max(pixel - width / 2, area.left - 6 * s);
    if (at < free_from || at + width > name_left - 6 * s) continue;
    free_from = at + width + 6 * s;
    draw_text(list, font, at, area.bottom + 14 * s, frame.palette.muted, tick.label);
  }
  draw_text(list, font, name_left, area.bottom + 14 * s, frame.palette.muted, chart.x_label);
}

void draw_lines(const Frame& frame, const Chart& chart, const Area& area) {
  auto* const list = ImGui::GetWindowDrawList();
  const Axis x = x_axis(chart, area), y = y_axis(chart, area);
  const float thick = 1.6f * frame.scale, thin = std::max(1.0f, frame.scale);
  // A line at the very edge of the range keeps its thickness.
  list->PushClipRect(ImVec2(area.left, area.top - thick), ImVec2(area.right + thick, area.bottom + thick),
                     true);
  for (const ChartLine& line : chart.lines) {
    const ImU32 color = line.faint ? blend(line.color, frame.palette.panel, 0.4f) : line.color;
    draw_curve(list, *line.series, x, y, color, line.faint ? thin : thick, hairline(frame));
    if (line.faint) draw_dots(list, *line.series, x, y, color, 1.6f * frame.scale);
  }
  list->PopClipRect();
}

// A label that would overlap an earlier one is left out.
void draw_marks(const Frame& frame, const Chart& chart, const Area& area) {
  const float s = frame.scale;
  auto* const list = ImGui::GetWindowDrawList();
  const Axis x = x_axis(chart, area);
  std::vector<std::pair<float, float>> occupied;
  for (const ChartMark& mark : chart.marks) {
    if (!x.shows(mark.x)) continue;
    const float pixel = std::floor(x.to_pixel(mark.x));
    if (pixel < area.left || pixel > area.right) continue;
    list->AddRectFilled(ImVec2(pixel, area.top - 2 * s), ImVec2(pixel + hairline(frame), area.bottom),
                        mark.color);
    const float width = text_width(frame.fonts.small, mark.label);
    const float at = std::clamp(pixel - width / 2, area.left, std::max(area.left, area.right - width));
    const auto overlaps = [&](const auto& other) {
      return at < other.second + 6 * s && at + width > other.first - 6 * s;
    };
    if (std::any_of(occupied.begin(), occupied.end(), overlaps)) continue;
    occupied.emplace_back(at, at + width);
    draw_text(list, frame.fonts.small, at, area.top - 5 * s, mark.color, mark.label);
  }
}

/// The x of the point that is read out.
std::optional<double> draw_read_out(const Frame& frame, const Chart& chart, const Area& area) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsItemHovered() || !chart.describe || chart.lines.empty()) return {};
  if (mouse.x < area.left || mouse.x > area.right || mouse.y < area.top || mouse.y > area.bottom) return {};
  const ChartLine& line = chart.lines.front();
  if (line.series->empty()) return {};
  const Axis x = x_axis(chart, area), y = y_axis(chart, area);
  // The nearest in pixels is not the nearest in value on a logarithmic axis.
  const std::size_t after = std::min(line.series->lower_bound(x.to_value(mouse.x)), line.series->size() - 1);
  const std::size_t before = after > 0 ? after - 1 : after;
  const auto distance = [&](std::size_t i) { return std::abs(x.to_pixel(line.series->x(i)) - mouse.x); };
  const std::size_t i = distance(before) < distance(after) ? before : after;
  const double value = static_cast<double>(line.series->y(i));
  const ImVec2 point(x.to_pixel(line.series->x(i)), y.to_pixel(value));
  if (point.y >= area.top - 2 && point.y <= area.bottom + 2) draw_read_point(frame, point, line.color);
  pointer_tip(frame, chart.describe(line.series->x(i), value));
  return line.series->x(i);
}

}  // namespace

std::optional<double> draw_chart(const Frame& frame, const char* name, ImVec2 size, const Chart& chart) {
  size = ImVec2(std::max(size.x, 64.0f), std::max(size.y, 56.0f));
  const ImVec2 min = ImGui::GetCursorScreenPos();
  hit_area(name, size);
  trace_item(name);
  const Area area = arrange(frame, min, ImVec2(min.x + size.x, min.y + size.y), chart);
  if (area.right - area.left < 16 || area.bottom - area.top < 8) return {};
  draw_grid(frame, chart, area);
  draw_lines(frame, chart, area);
  draw_marks(frame, chart, area);
  const std::optional<double> read = draw_read_out(frame, chart, area);
  return ImGui::IsItemClicked() ? read : std::nullopt;
}

}  // namespace warpscope::ui::plot
