#pragma once
// A small plot that shows all of its data: no zoom, axes given by the caller, marks at values of x, and a
// read-out under the pointer.

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "ui/frame/frame.h"
#include "ui/plot/axis.h"
#include "ui/plot/curve.h"

namespace warpscope::ui::plot {

/// What an axis covers.
struct Range {
  double low = 0;
  double high = 1;
  bool logarithmic = false;  ///< low and high are then positive
};

struct ChartLine {
  const Series* series = nullptr;
  ImU32 color = 0;
  bool faint = false;  ///< thin and pale, with a dot on each point
};

/// A hairline at `x`, with a word at its top.
struct ChartMark {
  double x = 0;
  std::string label;
  ImU32 color = 0;
};

struct Chart {
  std::span<const ChartLine> lines;
  std::span<const ChartMark> marks;
  Range x;
  Range y;
  const char* x_label = "";
  const char* y_label = "";
  /// The read-out for the point of the first line that is nearest to the pointer in x.
  std::function<std::string(double x, double y)> describe;
};

/// Draws the chart as an item of `size` pixels, traced as `name`. The x of the point that is clicked, in the frame of
/// the click.
std::optional<double> draw_chart(const Frame& frame, const char* name, ImVec2 size, const Chart& chart);

}  // namespace warpscope::ui::plot
