#pragma once
// The colour scale of the difference row.

#include "ui/frame/frame.h"
#include "ui/images/conversion.h"

namespace warpscope::ui::images {

/// Draws the colour bar with the numbers of its ends and its middle as an item one frame high. `width` is
/// that of the bar in pixels.
void difference_scale(const Frame& frame, const Conversion& conversion, float width);

/// Width in pixels of what difference_scale() draws.
float difference_scale_width(const Frame& frame, const Conversion& conversion, float width);

}  // namespace warpscope::ui::images
