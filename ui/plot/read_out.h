#pragma once
// The values of a plot's lines at one x, in a box beside it.

#include <string>

#include "ui/plot/plot.h"
#include "ui/plot/plot_room.h"

namespace warpscope::ui::plot {

/// The x of the point that is nearest to `wanted`, on the line that has most points; nothing if there is none.
std::optional<double> nearest_point(const Content& content, double wanted);

/// Draws a hairline at `at`, marks the lines' points there and tells their values under `head`, which may be "". The
/// box stands at the height of `beside`; the value nearest to it is marked.
void draw_read_out(const Frame& frame, const Content& content, const Room& room, const Axis& x, const Axis& y,
                   double at, const std::string& head, float beside);

}  // namespace warpscope::ui::plot
