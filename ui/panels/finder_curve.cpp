#include "ui/panels/finder_curve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace warpscope::ui {
namespace {

constexpr double kLeastSpan = 100;  // of the rates

plot::Range loss_range(const std::vector<training::RatePoint>& points) {
  const auto lowest = std::min_element(points.begin(), points.end(),
                                       [](const auto& a, const auto& b) { return a.smoothed < b.smoothed; });
  double high = lowest->smoothed, low = high;
  for (auto point = points.begin(); point != lowest; ++point) high = std::max(high, point->smoothed);
  // The loss hardly fell: a range of its own size keeps the curve from being stretched to noise, and half of a curve
  // that rises from the start is in view.
  if (high - low <= 0.05 * std::abs(high)) {
    std::vector<double> all;
    for (const training::RatePoint& point : points) all.push_back(point.smoothed);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    high = std::max(low + std::max(0.25 * std::abs(low), 1e-9), *middle);
  }
  const double span = high - low;
  return {std::max(0.0, low - 0.25 * span), high + 0.5 * span, false};
}

}  // namespace

FinderCurve finder_curve(const training::RateFinderResult& result, const training::RateFinderOptions& options,
                         bool running) {
  FinderCurve curve;
  for (const training::RatePoint& point : result.points) {
    curve.raw.append(point.rate, static_cast<float>(point.loss));
    curve.smoothed.append(point.rate, static_cast<float>(point.smoothed));
  }
  const double reached = running || result.points.empty() ? options.high : result.points.back().rate;
  curve.x = {options.low, std::max(reached, kLeastSpan * options.low), true};
  if (!result.points.empty()) curve.y = loss_range(result.points);
  return curve;
}

}  // namespace warpscope::ui
