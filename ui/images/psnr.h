#pragma once
// Peak signal-to-noise ratio of images in [0, 1].

#include <cmath>
#include <limits>

namespace warpscope::ui::images {

/// -10 log10(mean squared error), in dB; infinite for equal images.
inline double psnr(float mean_squared_error) {
  if (mean_squared_error == 0) return std::numeric_limits<double>::infinity();
  return -10.0 * std::log10(static_cast<double>(mean_squared_error));
}

}  // namespace warpscope::ui::images
