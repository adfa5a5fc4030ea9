#pragma once
// Draws a series.

#include <imgui.h>

#include "ui/plot/axis.h"
#include "ui/plot/curve.h"

namespace warpscope::ui::plot {

/// Draws `series` over the visible x. With fewer points than about two a pixel each is joined to the next;
/// with more, each column of `column` pixels is filled from its smallest to its largest value, so that the
/// cost is that of the pixels and every spike is there. Gaps stay gaps.
void draw_curve(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
                float thickness, float column);

/// A dot on each visible point, if they are further apart than about 6 times `radius`.
void draw_dots(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
               float radius);

/// A cross on each visible point, however many there are: one for each `radius` pixels at most.
void draw_crosses(ImDrawList* list, const Series& series, const Axis& x, const Axis& y, ImU32 color,
                  float radius);

}  // namespace warpscope::ui::plot
