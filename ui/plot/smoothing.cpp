#include "ui/plot/smoothing.h"

#include <cmath>
#include <limits>

namespace warpscope::ui::plot {

float Smoother::next(float y) {
  if (!std::isfinite(y)) return std::numeric_limits<float>::quiet_NaN();
  mean_ = weight_ * mean_ + (1 - weight_) * static_cast<double>(y);
  remaining_ *= weight_;
  return static_cast<float>(mean_ / (1 - remaining_));
}

double weight_for(double steps) {
  return steps <= 1 ? 0.0 : 1 - 1 / steps;
}

}  // namespace warpscope::ui::plot
