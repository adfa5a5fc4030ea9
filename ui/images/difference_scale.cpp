#include "ui/images/difference_scale.h"

#include <string>

#include <fmt/format.h>

#include "ui/images/colour_bar.h"

namespace warpscope::ui::images {
namespace {

ColourBar bar_of(const Conversion& conversion) {
  const std::string range = fmt::format("{:g}", conversion.range);
  if (conversion.difference == Difference::absolute) return {"0", range, magnitude_colour};
  return {fmt::format("-{}", range), fmt::format("+{}", range),
          [](float part) { return signed_colour(2 * part - 1); }};
}

}  // namespace

float difference_scale_width(const Frame& frame, const Conversion& conversion, float width) {
  return colour_bar_width(frame, bar_of(conversion), width);
}

void difference_scale(const Frame& frame, const Conversion& conversion, float width) {
  colour_bar(frame, bar_of(conversion), width);
}

}  // namespace warpscope::ui::images
