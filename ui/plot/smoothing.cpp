#include "ui/plot/smoothing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace warpscope::ui::plot {
namespace {

constexpr double kPart = 5;  ///< the window is at most one part in so many of the curve

}  // namespace

float Smoother::next(float y) {
  if (!std::isfinite(y)) return std::numeric_limits<float>::quiet_NaN();
  ++count_;
  const double share = std::max(1 - weight_, kPart / (count_ + kPart - 1));
  mean_ += share * (static_cast<double>(y) - mean_);
  return static_cast<float>(mean_);
}

double weight_for(double steps) {
  return steps <= 1 ? 0.0 : 1 - 1 / steps;
}

}  // namespace warpscope::ui::plot
