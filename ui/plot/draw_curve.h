#pragma once
// Draws a series.

#include <cstddef>
#include <limits>
#include <span>

#include <imgui.h>

#include "ui/frame/frame.h"
#include "ui/plot/axis.h"
#include "ui/plot/curve.h"

namespace warpscope::ui::plot {

/// Pixels that are drawn and left out in turns; none left out: a whole line.
struct Dash {
  float on = 1;
  float off = 0;
};

/// Patterns that can be told apart, of a curve whose colour others have too: 0 is a whole line, as kDashes is again.
inline constexpr std::size_t kDashes = 5;
Dash dash_pattern(std::size_t number, float scale);

/// The grid at `ticks` of y, from `left` to `right`, and their labels, which end `gap` pixels left of it; without those
/// that would stand above `least`.
void draw_y_grid(const Frame& frame, std::span<const Tick> ticks, const Axis& y, float left, float right,
                 float gap, float least = std::numeric_limits<float>::lowest());

/// A point that is read out.
void draw_read_point(const Frame& frame, ImVec2 at, ImU32 color);

/// A sample of a line in a legend: `color` between `min` and `max`.
void draw_swatch(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 color, Dash dash);

/// Draws `series` over the visible x. With fewer points than about two a pixel each is joined to the next;
/// with more, each column of `column` pixels is filled from its smallest to its largest value, so that the
/// cost is that of the pixels and every spike is there. Gaps stay gaps.
void draw_curve(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
                float thickness, float column, Dash dash = {});

/// A dot on each visible point, if they are further apart than about 6 times `radius`.
void draw_dots(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
               float radius);

/// A cross on each visible point, however many there are: one for each `radius` pixels at most.
void draw_crosses(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
                  float radius);

}  // namespace warpscope::ui::plot
