#pragma once
// Where the parts of a plot stand on its page of 960 x 540 units: for all who draw it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/charts/axis.h"
#include "gpu/export/svg_plot.h"

namespace warpscope::runs {

inline constexpr int kPageWidth = 960;
inline constexpr int kPageHeight = 540;
inline constexpr int kPlotLeft = 80;
inline constexpr int kPlotRight = kPageWidth - 24;
inline constexpr int kPlotBottom = kPageHeight - 56;
inline constexpr int kTitleBaseline = 26;
inline constexpr int kFontSize = 13;
inline constexpr int kSmallSize = 11;
inline constexpr int kKeyLength = 28;  ///< of the line before a name in the legend
inline constexpr int kKeyRoom = 36;    ///< from the start of that line to the name
inline constexpr double kCurveThickness = 1.5;
inline constexpr double kKeyThickness = 2;
inline constexpr double kMarkOpacity = 0.7;

inline constexpr std::uint32_t kInk = 0x222222;
inline constexpr std::uint32_t kFaintInk = 0x555555;  ///< of ticks and the texts of marks
inline constexpr std::uint32_t kAxisInk = 0x333333;
inline constexpr std::uint32_t kGridInk = 0xE4E4E4;

/// Red, green and blue of a colour of the palette; grey for -1.
std::uint32_t color_of(int index);
/// "#0072B2"
std::string hex(std::uint32_t color);
/// Lengths of dash, gap, dash, ... of a pattern; empty for a solid line.
std::span<const float> dashes_of(int index);

/// Where a curve's name stands in the legend: the left end of its key, and the middle of its height.
struct LegendEntry {
  double x = 0;
  double y = 0;
};

struct PlacedMark {
  double x = 0;
  int color = -1;
  std::string text;     ///< all of it
  std::string shown;    ///< what there is room for; empty if it would cover another
  double text_x = 0;    ///< its baseline; it runs upwards
  double text_top = 0;  ///< where it ends
};

struct PlotLayout {
  int top = 0;  ///< of the curves' area
  charts::Axis x;
  charts::Axis y;
  std::vector<charts::Tick> x_ticks;
  std::vector<charts::Tick> y_ticks;
  std::vector<LegendEntry> legend;  ///< one for each curve
  std::vector<PlacedMark> marks;
};

PlotLayout layout_of(const Plot& plot);

/// The points of a curve that the axes show, on the page, thinned to what the width can show at twice the
/// size without losing an extreme.
Curve placed_points(const PlotCurve& curve, const PlotLayout& layout);

}  // namespace warpscope::runs
