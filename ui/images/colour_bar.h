#pragma once
// The bar that tells which colours stand for which numbers.

#include <functional>
#include <string>

#include "ui/frame/frame.h"
#include "ui/images/conversion.h"

namespace warpscope::ui::images {

struct ColourBar {
  std::string low, high;              ///< the values of the ends
  std::function<Rgba(float)> colour;  ///< at a part of the bar, from 0 to 1; linear within each eighth
};

/// Pixels that colour_bar() takes: the ends, and `width` pixels of colours between them.
float colour_bar_width(const Frame& frame, const ColourBar& bar, float width);
/// Draws it as an item one frame high.
void colour_bar(const Frame& frame, const ColourBar& bar, float width);

/// Draws the colour bar with the numbers of its ends and its middle as an item one frame high. `width` is
/// that of the bar in pixels.
void difference_scale(const Frame& frame, const Conversion& conversion, float width);

/// Width in pixels of what difference_scale() draws.
float difference_scale_width(const Frame& frame, const Conversion& conversion, float width);

}  // namespace warpscope::ui::images
