#pragma once
// Horizontal bars as an SVG file.

#include <string>
#include <vector>

namespace warpscope::runs {

struct ChartBar {
  std::string name;
  double value = 0;
  double low = 0;         ///< spread; drawn where `high` is above it
  double high = 0;        ///< spread
  double mark = 0;        ///< a line across the bar; 0 for none
  int color = 0;          ///< index into the palette, as in svg_plot.h
  std::string text = {};  ///< behind the bar
};

/// Bars under a title of their own.
struct BarGroup {
  std::string title;
  std::vector<ChartBar> bars;
};

/// What a colour means.
struct BarKey {
  std::string name;
  int color = 0;
};

struct BarChart {
  std::string title;
  std::string subtitle;
  std::string label;         ///< of the axis, with the unit
  std::string mark;          ///< what the lines across bars are ("floor"); "" if there are none
  bool logarithmic = false;  ///< then only bars above 0 are drawn
  std::vector<BarKey> keys;
  std::vector<BarGroup> groups;
};

/// The chart as an SVG 1.1 document, 960 pixels wide and as high as its bars need. Text of any content is
/// fine.
std::string svg_of(const BarChart& chart);

}  // namespace warpscope::runs
