#pragma once
// Markers on the x axis: hairlines with small flags that say what changed. Flags that would lie on each other
// merge.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ui/frame.h"
#include "ui/plot/axis.h"

namespace warpscope::ui::plot {

struct Marker {
  double x = 0;
  std::string text;
};

/// Markers [first, last) that share one flag, which stands at `pixel`, the first one's.
struct FlagGroup {
  std::size_t first = 0;
  std::size_t last = 0;
  float pixel = 0;
};

/// Groups markers (in the order of x) whose pixels lie within [left, right]. A marker joins the group before
/// it if it is nearer than `reach` pixels to that group's first one.
std::vector<FlagGroup> group_markers(std::span<const Marker> markers, const Axis& x, float left, float right,
                                     float reach);

/// Height of the strip above the plot that the flags need.
float flag_height(const Frame& frame);

/// Draws the flags in the strip that ends at y = `top` and hairlines from there to `bottom`. The flag under
/// the pointer shows its markers in a tool-tip. True if there is one under it.
bool draw_flags(const Frame& frame, std::span<const Marker> markers, const Axis& x, Unit unit, float top,
                float bottom);

}  // namespace warpscope::ui::plot
