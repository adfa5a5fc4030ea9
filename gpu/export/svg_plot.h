#pragma once
// A line plot as an SVG file.

#include <string>
#include <vector>

#include "gpu/charts/axis.h"
#include "gpu/runs/curves.h"

namespace warpscope::runs {

struct PlotCurve {
  std::string name;  ///< in the legend
  int color = 0;     ///< index into the palette, which repeats
  int dash = 0;      ///< 0 solid, then dash patterns, which repeat
  Curve points;
};

/// A vertical line across the plot.
struct PlotMark {
  double x = 0;
  std::string text;
  int color = -1;  ///< of the palette; -1 for grey
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  charts::Unit x_unit = charts::Unit::count;
  bool logarithmic = false;  ///< the y axis; values that are not positive are left out then
  std::vector<PlotCurve> curves;
  std::vector<PlotMark> marks;
};

/// The plot as an SVG 1.1 document of 960 x 540 pixels: round ticks and grid, a legend, curves thinned to
/// what the width can show at twice the size without losing an extreme, marks with their text where it does
/// not cover another. Colours are Okabe and Ito's (https://jfly.uni-koeln.de/color/, 2008), yellow last. Text
/// of any content is fine. A plot without points has empty axes.
std::string svg_of(const Plot& plot);

}  // namespace warpscope::runs
