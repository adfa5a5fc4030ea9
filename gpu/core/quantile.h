#pragma once
// Quantiles of numbers that are all at hand.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace warpscope::core {

/// The number below which `share` of the `sorted` ones lie, of which there is at least one: by linear interpolation
/// between the two that are nearest. At 0.5 it is the median, of an even count the mean of the two in the middle.
inline double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace warpscope::core
