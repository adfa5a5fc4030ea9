#include "ui/plot/draw_curve.h"

#include <algorithm>
#include <cmath>

namespace warpscope::ui::plot {
namespace {

struct Visible {
  std::size_t first = 0;
  std::size_t last = 0;
};

// The points in view and one more on each side, so that lines run to the edges.
Visible visible_points(const Series& series, const Axis& x) {
  std::size_t first = series.lower_bound(x.low), last = series.lower_bound(x.high);
  if (first > 0) --first;
  last = std::min(series.size(), last + 1);
  return {first, last};
}

ImVec2 position(const Series& series, std::size_t i, const Axis& x, const Axis& y) {
  return {x.to_pixel(series.x(i)), y.to_pixel(static_cast<double>(series.y(i)))};
}

void draw_points(ImDrawList* list, const Series& series, Visible range, const Axis& x, const Axis& y,
                 ImU32 color, float thickness) {
  bool joined = false;
  ImVec2 before;
  for (std::size_t i = range.first; i < range.last; ++i) {
    if (!y.shows(static_cast<double>(series.y(i)))) {
      joined = false;
      continue;
    }
    const ImVec2 at = position(series, i, x, y);
    const bool next_shows = i + 1 < range.last && y.shows(static_cast<double>(series.y(i + 1)));
    if (joined) {
      list->AddLine(before, at, color, thickness);
    } else if (!next_shows) {
      list->AddCircleFilled(at, thickness, color, 8);  // a point alone between gaps
    }
    before = at;
    joined = true;
  }
}

// The smallest value of the column that has a place on the axis.
double lowest_shown(const Extent& extent, const Axis& y) {
  const double low = static_cast<double>(extent.low);
  return y.shows(low) ? low : y.low;
}

void draw_columns(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
                  float thickness, float width) {
  const int count = std::max(1, static_cast<int>((x.pixel_high - x.pixel_low) / width));
  const auto columns = series.columns(x.low, x.high, count);
  bool joined = false;
  float before = 0;  // the pixel at which the column before ended
  float last_middle = 0;
  for (int i = 0; i < count; ++i) {
    const Column& column = columns[static_cast<std::size_t>(i)];
    if (column.first == column.last) continue;
    if (column.extent.empty() || !y.shows(static_cast<double>(column.extent.high))) {
      joined = false;
      continue;
    }
    const float left = x.pixel_low + width * static_cast<float>(i);
    float top = y.to_pixel(static_cast<double>(column.extent.high));
    float bottom = y.to_pixel(lowest_shown(column.extent, y));
    const float middle = (top + bottom) / 2;
    if (bottom - top < 2 * thickness && joined && std::abs(middle - last_middle) < 4 * thickness) {
      list->AddLine(ImVec2(left - width / 2, last_middle), ImVec2(left + width / 2, middle), color,
                    thickness);
    } else {
      if (joined) {
        top = std::min(top, before);
        bottom = std::max(bottom, before);
      }
      const float pad = std::max(0.0f, thickness - (bottom - top)) / 2;
      list->AddRectFilled(ImVec2(left, top - pad), ImVec2(left + width, bottom + pad), color);
    }
    const double end = static_cast<double>(series.y(column.last - 1));
    before = y.shows(end) ? y.to_pixel(end) : middle;
    last_middle = middle;
    joined = true;
  }
}

}  // namespace

void draw_curve(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
                float thickness, float column) {
  if (series.empty()) return;
  const Visible range = visible_points(series, x);
  if (static_cast<float>(range.last - range.first) <= 2 * (x.pixel_high - x.pixel_low) / column) {
    draw_points(list, series, range, x, y, color, thickness);
  } else {
    draw_columns(list, series, x, y, color, thickness, column);
  }
}

void draw_dots(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
               float radius) {
  if (series.empty()) return;
  const Visible range = visible_points(series, x);
  const auto count = static_cast<float>(range.last - range.first);
  if (count * 6 * radius > x.pixel_high - x.pixel_low) return;
  for (std::size_t i = range.first; i < range.last; ++i) {
    if (y.shows(static_cast<double>(series.y(i))))
      list->AddCircleFilled(position(series, i, x, y), radius, color, 12);
  }
}

void draw_crosses(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
                  float radius) {
  if (series.empty()) return;
  const int count = std::max(1, static_cast<int>((x.pixel_high - x.pixel_low) / radius));
  for (const Column& column : series.columns(x.low, x.high, count)) {
    if (column.first == column.last || !y.shows(static_cast<double>(series.y(column.first)))) continue;
    const ImVec2 at = position(series, column.first, x, y);
    const float thickness = std::max(1.0f, 0.4f * radius);
    list->AddLine(ImVec2(at.x - radius, at.y - radius), ImVec2(at.x + radius, at.y + radius), color,
                  thickness);
    list->AddLine(ImVec2(at.x - radius, at.y + radius), ImVec2(at.x + radius, at.y - radius), color,
                  thickness);
  }
}

}  // namespace warpscope::ui::plot
