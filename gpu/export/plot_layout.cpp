#include "gpu/export/plot_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "gpu/files/utf8.h"
#include "gpu/runs/text.h"

namespace warpscope::runs {
namespace {

constexpr int kTitleHeight = 44;
constexpr int kLegendRow = 20;
constexpr int kColumns = 2 * (kPlotRight - kPlotLeft);
constexpr std::size_t kMostMarkText = 48;

constexpr std::array<std::uint32_t, 8> kColors{0x0072B2, 0xD55E00, 0x009E73, 0xE69F00,
                                               0x56B4E9, 0xCC79A7, 0x000000, 0xF0E442};
constexpr std::uint32_t kGrey = 0x808080;
constexpr std::array kDashed{7.0f, 4.0f};
constexpr std::array kDotted{2.0f, 3.0f};
constexpr std::array kDashDotted{9.0f, 3.0f, 2.0f, 3.0f};

/// Pixels that text takes, roughly: fonts differ, and nothing depends on it but what has room beside what.
double text_width(const std::string& text, int size) {
  const auto characters =
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; });
  return 0.58 * size * static_cast<double>(characters);
}

/// Places the names side by side, in as many rows as that takes.
std::vector<LegendEntry> place_legend(const std::vector<PlotCurve>& curves) {
  std::vector<LegendEntry> entries;
  double x = kPlotLeft;
  double y = kTitleHeight + 4;
  for (const PlotCurve& curve : curves) {
    const double width = kKeyRoom + text_width(files::escaped(curve.name), kFontSize) + 20;
    if (x > kPlotLeft && x + width > kPlotRight) {
      x = kPlotLeft;
      y += kLegendRow;
    }
    entries.push_back({x, y});
    x += width;
  }
  return entries;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

/// A range with some room around it; [0, 1] or [1, 10] for none.
Range padded(Range range, bool logarithmic, double share) {
  if (range.empty()) return logarithmic ? Range{1, 10} : Range{0, 1};
  if (range.low == range.high) {
    if (logarithmic) return {range.low / 2, range.high * 2};
    const double room = range.low == 0 ? 1 : std::abs(range.low) / 2;
    return {range.low - room, range.high + room};
  }
  if (logarithmic) {
    const double factor = std::pow(range.high / range.low, share);
    return {range.low / factor, range.high * factor};
  }
  const double room = (range.high - range.low) * share;
  return {range.low - room, range.high + room};
}

void place_axes(const Plot& plot, PlotLayout& layout) {
  Range x;
  Range y;
  for (const PlotCurve& curve : plot.curves) {
    for (std::size_t i = 0; i < curve.points.x.size(); ++i) {
      if (plot.logarithmic && curve.points.y[i] <= 0) continue;
      x.add(curve.points.x[i]);
      y.add(curve.points.y[i]);
    }
  }
  // Steps begin at 1 and epochs near 0: the axis may as well begin at 0.
  if (x.low > 0 && x.low < 0.05 * x.high) x.low = 0;
  x = padded(x, false, 0);
  y = padded(y, plot.logarithmic, 0.04);
  layout.x = {x.low, x.high, static_cast<float>(kPlotLeft), static_cast<float>(kPlotRight), false};
  layout.y = {y.low, y.high, static_cast<float>(kPlotBottom), static_cast<float>(layout.top),
              plot.logarithmic};
  layout.x_ticks = charts::ticks(layout.x, 8, plot.x_unit);
  layout.y_ticks = charts::ticks(layout.y, 7, charts::Unit::value);
}

/// A mark's text is shown if it is far enough right of the one before.
std::vector<PlacedMark> place_marks(const Plot& plot, const PlotLayout& layout) {
  std::vector<PlotMark> marks = plot.marks;
  std::ranges::stable_sort(marks, [](const auto& a, const auto& b) { return a.x < b.x; });
  std::vector<PlacedMark> placed;
  double free_from = 0;
  for (const PlotMark& mark : marks) {
    const double x = layout.x.to_pixel(mark.x);
    if (x < kPlotLeft || x > kPlotRight) continue;
    PlacedMark& here = placed.emplace_back();
    here.x = x;
    here.color = mark.color;
    here.text = mark.text;
    const bool at_right_end = x + kSmallSize + 4 > kPlotRight;
    here.text_x = at_right_end ? x - 4 : x + kSmallSize;
    here.text_top = layout.top + 6;
    if (here.text_x - kSmallSize < free_from) continue;
    here.shown = shortened(files::escaped(mark.text), kMostMarkText);
    free_from = here.text_x + 4;
  }
  return placed;
}

}  // namespace

std::string hex(std::uint32_t color) {
  return fmt::format("#{:06X}", color);
}

std::uint32_t color_of(int index) {
  return index < 0 ? kGrey : kColors[static_cast<std::size_t>(index) % kColors.size()];
}

std::span<const float> dashes_of(int index) {
  static constexpr std::array<std::span<const float>, 4> kPatterns{std::span<const float>{}, kDashed, kDotted,
                                                                   kDashDotted};
  return kPatterns[static_cast<std::size_t>(index) % kPatterns.size()];
}

PlotLayout layout_of(const Plot& plot) {
  PlotLayout layout;
  layout.legend = place_legend(plot.curves);
  layout.top = layout.legend.empty() ? kTitleHeight + 8
                                     : static_cast<int>(layout.legend.back().y) - 4 + kLegendRow + 8;
  place_axes(plot, layout);
  layout.marks = place_marks(plot, layout);
  return layout;
}

Curve placed_points(const PlotCurve& curve, const PlotLayout& layout) {
  Curve shown;
  for (std::size_t i = 0; i < curve.points.x.size(); ++i) {
    if (!layout.y.shows(curve.points.y[i])) continue;
    shown.x.push_back(curve.points.x[i]);
    shown.y.push_back(curve.points.y[i]);
  }
  if (shown.x.empty()) return shown;
  shown = thinned(shown, kColumns);
  for (double& x : shown.x) x = layout.x.to_pixel(x);
  for (double& y : shown.y) y = layout.y.to_pixel(y);
  return shown;
}

}  // namespace warpscope::runs
