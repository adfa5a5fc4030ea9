#pragma once
// How several plots share a room. No drawing here.

#include <imgui.h>

namespace warpscope::ui::plot {

struct GridShape {
  int columns = 1;
  int rows = 1;
  bool operator==(const GridShape&) const = default;
};

/// Columns and rows for `count` plots in `room` pixels: those in which a plot is nearest to twice as wide as high,
/// none narrower than `least_width` where that can be.
GridShape grid_of(int count, ImVec2 room, float least_width);

}  // namespace warpscope::ui::plot
