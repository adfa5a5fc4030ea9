#include "ui/plot/draw_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ui/widgets/widgets.h"

namespace warpscope::ui::plot {
namespace {

struct Visible {
  std::size_t first = 0;
  std::size_t last = 0;
};

// The points in view and one more on each side, so that lines run to the edges.
Visible visible_points(const Series& series, const Axis& x) {
  std::size_t first = series.lower_bound(x.low), last = series.lower_bound(x.high);
  if (first > 0 && x.shows(series.x(first - 1))) --first;
  last = std::min(series.size(), last + 1);
  return {first, last};
}

ImVec2 position(const Series& series, std::size_t i, const PixelScale& x, const PixelScale& y) {
  return {x.to_pixel(series.x(i)), y.to_pixel(static_cast<double>(series.y(i)))};
}

// Draws a line piece by piece; dashes go on from one to the next.
class DashPen {
 public:
  DashPen(ImDrawList* list, ImU32 color, float thickness, Dash dash)
      : list_(list), color_(color), thickness_(thickness), dash_(dash) {}

  void line(ImVec2 from, ImVec2 to) {
    if (dash_.off <= 0) return list_->AddLine(from, to, color_, thickness_);
    const float length = std::hypot(to.x - from.x, to.y - from.y), period = dash_.on + dash_.off;
    const auto place = [&](float at) {
      const float part = length > 0 ? at / length : 0;
      return ImVec2(from.x + part * (to.x - from.x), from.y + part * (to.y - from.y));
    };
    float at = 0;
    while (at < length) {
      const float left = phase_ < dash_.on ? dash_.on - phase_ : period - phase_;
      const float end = std::min(length, at + std::max(left, kLeast));
      if (phase_ < dash_.on) list_->AddLine(place(at), place(end), color_, thickness_);
      phase_ = std::fmod(phase_ + end - at, period);
      at = end;
    }
  }

 private:
  static constexpr float kLeast = 0.01f;  // pixels, so that rounding ends no dash in steps of nothing

  ImDrawList* list_;
  ImU32 color_;
  float thickness_;
  Dash dash_;
  float phase_ = 0;
};

void draw_points(ImDrawList* list, const Series& series, Visible range, const PixelScale& x,
                 const PixelScale& y, ImU32 color, float thickness, Dash dash) {
  DashPen pen(list, color, thickness, dash);
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
      pen.line(before, at);
    } else if (!next_shows) {
      list->AddCircleFilled(at, thickness, color, 8);  // a single point between gaps
    }
    before = at;
    joined = true;
  }
}

// Draws columns of pixels from the left to the right, each joined to the one before it.
class ColumnPen {
 public:
  ColumnPen(ImDrawList* list, const PixelScale& y, ImU32 color, float thickness, float width)
      : list_(list), y_(y), color_(color), thickness_(thickness), width_(width) {}

  /// A column from `low` to `high` whose last value is `end`.
  void draw(float left, double low, double high, double end) {
    float top = y_.to_pixel(high), bottom = y_.to_pixel(low);
    const float middle = (top + bottom) / 2;
    if (bottom - top < 2 * thickness_ && joined_ && std::abs(middle - middle_) < 4 * thickness_) {
      flush();
      list_->AddLine(ImVec2(left - width_ / 2, middle_), ImVec2(left + width_ / 2, middle), color_,
                     thickness_);
    } else {
      // Only what lies beyond the column reaches out to it.
      if (joined_ && !(end_ >= low && end_ <= high)) {
        const float before = y_.shows(end_) ? y_.to_pixel(end_) : middle_;
        top = std::min(top, before);
        bottom = std::max(bottom, before);
      }
      const float pad = std::max(0.0f, thickness_ - (bottom - top)) / 2;
      boxes_.push_back({ImVec2(left, top - pad), ImVec2(left + width_, bottom + pad)});
      if (boxes_.size() == kMostBoxes) flush();
    }
    middle_ = middle;
    end_ = end;
    joined_ = true;
  }
  void gap() { joined_ = false; }
  /// To be called at the end: draws what is collected.
  void flush() {
    const int count = static_cast<int>(boxes_.size());
    if (count == 0) return;
    list_->PrimReserve(6 * count, 4 * count);
    for (const Box& box : boxes_) list_->PrimRect(box.min, box.max, color_);
    boxes_.clear();
  }

 private:
  struct Box {
    ImVec2 min, max;
  };
  static constexpr std::size_t kMostBoxes = 4096;  // few enough for indices of 16 bits

  ImDrawList* list_;
  const PixelScale& y_;
  ImU32 color_;
  float thickness_, width_;
  bool joined_ = false;
  float middle_ = 0;  // of the column before, in pixels
  double end_ = 0;    // the last value of the column before
  std::vector<Box> boxes_;
};

void draw_columns(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
                  float thickness, float width, Dash dash) {
  const int count = std::max(1, static_cast<int>((x.pixel_high - x.pixel_low) / width));
  const auto columns = series.columns(x.low, x.high, count, x.logarithmic);
  const PixelScale scale(y);
  ColumnPen pen(list, scale, color, thickness, width);
  for (int i = 0; i < count; ++i) {
    const Column& column = columns[static_cast<std::size_t>(i)];
    if (column.first == column.last) continue;
    if (std::fmod(width * static_cast<float>(i), dash.on + dash.off) >= dash.on) {
      pen.gap();
      continue;
    }
    const auto low = static_cast<double>(column.extent.low), high = static_cast<double>(column.extent.high);
    if (column.extent.empty() || !scale.shows(high)) {
      pen.gap();
      continue;
    }
    // The smallest value may have no place on the axis.
    pen.draw(x.pixel_low + width * static_cast<float>(i), scale.shows(low) ? low : y.low, high,
             static_cast<double>(series.y(column.last - 1)));
  }
  pen.flush();
}

}  // namespace

Dash dash_pattern(std::size_t number, float scale) {
  constexpr std::array<Dash, kDashes> kPatterns{{{1, 0}, {7, 4}, {2, 3}, {14, 5}, {4, 8}}};
  const Dash pattern = kPatterns[number % kDashes];
  return {pattern.on * scale, pattern.off * scale};
}

void draw_y_grid(const Frame& frame, std::span<const Tick> ticks, const Axis& y, float left, float right,
                 float gap, float least) {
  auto* const list = ImGui::GetWindowDrawList();
  const ImFont* const font = frame.fonts.small;
  for (const Tick& tick : ticks) {
    const float pixel = std::floor(y.to_pixel(tick.value));
    list->AddRectFilled(ImVec2(left, pixel), ImVec2(right, pixel + hairline(frame)), frame.palette.grid);
    if (pixel < least) continue;
    draw_text(list, font, left - gap - text_width(font, tick.label), pixel + 4 * frame.scale,
              frame.palette.muted, tick.label);
  }
}

void draw_read_point(const Frame& frame, ImVec2 at, ImU32 color) {
  auto* const list = ImGui::GetWindowDrawList();
  list->AddCircleFilled(at, 4 * frame.scale, frame.palette.panel, 16);
  list->AddCircleFilled(at, 3 * frame.scale, color, 16);
}

void draw_swatch(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 color, Dash dash) {
  const float period = dash.off > 0 ? dash.on + dash.off : max.x - min.x;
  for (float x = min.x; x < max.x && period > 0; x += period) {
    const float end = dash.off > 0 ? std::min(max.x, x + dash.on) : max.x;
    list->AddRectFilled(ImVec2(x, min.y), ImVec2(end, max.y), color);
  }
}

void draw_curve(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
                float thickness, float column, Dash dash) {
  if (series.empty()) return;
  const Visible range = visible_points(series, x);
  if (static_cast<float>(range.last - range.first) <= 2 * (x.pixel_high - x.pixel_low) / column) {
    draw_points(list, series, range, PixelScale(x), PixelScale(y), color, thickness, dash);
  } else {
    draw_columns(list, series, x, y, color, thickness, column, dash);
  }
}

void draw_dots(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
               float radius) {
  if (series.empty()) return;
  const Visible range = visible_points(series, x);
  const auto count = static_cast<float>(range.last - range.first);
  if (count * 6 * radius > x.pixel_high - x.pixel_low) return;
  const PixelScale x_scale(x), y_scale(y);
  for (std::size_t i = range.first; i < range.last; ++i) {
    if (y_scale.shows(static_cast<double>(series.y(i))))
      list->AddCircleFilled(position(series, i, x_scale, y_scale), radius, color, 12);
  }
}

void draw_crosses(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
                  float radius) {
  if (series.empty()) return;
  const int count = std::max(1, static_cast<int>((x.pixel_high - x.pixel_low) / radius));
  const PixelScale x_scale(x), y_scale(y);
  for (const Column& column : series.columns(x.low, x.high, count, x.logarithmic)) {
    if (column.first == column.last || !y_scale.shows(static_cast<double>(series.y(column.first)))) continue;
    const ImVec2 at = position(series, column.first, x_scale, y_scale);
    const float thickness = std::max(1.0f, 0.4f * radius);
    list->AddLine(ImVec2(at.x - radius, at.y - radius), ImVec2(at.x + radius, at.y + radius), color,
                  thickness);
    list->AddLine(ImVec2(at.x - radius, at.y + radius), ImVec2(at.x + radius, at.y - radius), color,
                  thickness);
  }
}

}  // namespace warpscope::ui::plot
