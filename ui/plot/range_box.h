#pragma once
// A range of a plot that is measured: its figures a line, and the straight line through each.

#include <string>
#include <vector>

#include "ui/plot/plot.h"
#include "ui/plot/view.h"

namespace warpscope::ui::plot {

/// The line through a range in words: "-1.20e-05 a step", "halves in 3,012 steps" where y is logarithmic, "-0.0120 a
/// factor of 10" where x is, "~ step^-0.51" where both are; "-" if there is no line.
std::string fit_text(const Fit& fit, Unit unit, const char* x_label);

/// Shades the range and draws the line and the figures of each of the plot's lines that has points in it: the mean,
/// the smallest, the largest, and what the line says. For a smoothed line the raw values count. `sums` is kept from
/// frame to frame.
void draw_range(const Frame& frame, const Content& content, const Room& room, const Axis& x, const Axis& y,
                const Span& range, std::vector<RangeSums>& sums);

}  // namespace warpscope::ui::plot
