#include "gpu/runs/curves.h"

#include <algorithm>
#include <cmath>

namespace warpscope::runs {
namespace {

double x_of(const PointTable& table, std::size_t i, Over over) {
  switch (over) {
    case Over::step:
      return static_cast<double>(table.step[i]);
    case Over::epoch:
      return table.epoch[i];
    case Over::seconds:
      return table.seconds[i];
  }
  return 0;
}

/// Adds points [begin, end) of a curve, which share a column.
void add_column(const Curve& curve, std::size_t begin, std::size_t end, Curve& result) {
  const auto extremes = std::minmax_element(curve.y.begin() + static_cast<std::ptrdiff_t>(begin),
                                            curve.y.begin() + static_cast<std::ptrdiff_t>(end));
  std::vector<std::size_t> kept{begin, static_cast<std::size_t>(extremes.first - curve.y.begin()),
                                static_cast<std::size_t>(extremes.second - curve.y.begin()), end - 1};
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  for (const std::size_t i : kept) {
    result.x.push_back(curve.x[i]);
    result.y.push_back(curve.y[i]);
  }
}

}  // namespace

std::vector<std::string> series_names(const RunPoints& points) {
  std::vector<std::string> names;
  for (const PointTable* table : {&points.steps, &points.tests}) {
    for (const Series& series : table->series) {
      if (std::find(names.begin(), names.end(), series.name) == names.end()) names.push_back(series.name);
    }
  }
  return names;
}

Curve curve_of(const RunPoints& points, std::string_view series, Over over) {
  Curve curve;
  for (const PointTable* table : {&points.steps, &points.tests}) {
    const Series* found = table->find(series);
    if (found == nullptr) continue;
    for (std::size_t i = 0; i < table->size(); ++i) {
      const double x = x_of(*table, i, over);
      if (!std::isfinite(x) || !std::isfinite(found->values[i])) continue;
      // Times that run backwards would draw a curve that cannot be searched.
      curve.x.push_back(curve.x.empty() ? x : std::max(x, curve.x.back()));
      curve.y.push_back(found->values[i]);
    }
    break;
  }
  return curve;
}

double place_of(const RunPoints& points, std::uint64_t step, Over over) {
  const PointTable& steps = points.steps;
  if (over == Over::step) return static_cast<double>(step);
  if (steps.size() == 0 || step == 0) return 0;
  const auto found = std::lower_bound(steps.step.begin(), steps.step.end(), step);
  const auto i = std::min(static_cast<std::size_t>(found - steps.step.begin()), steps.size() - 1);
  return x_of(steps, i, over);
}

Curve thinned(const Curve& curve, int columns) {
  if (curve.x.size() <= static_cast<std::size_t>(columns) * 4) return curve;
  Curve result;
  const double low = curve.x.front();
  const double width = (curve.x.back() - low) / columns;
  const auto column = [&](std::size_t i) {
    return width > 0 ? std::min(columns - 1, static_cast<int>((curve.x[i] - low) / width)) : 0;
  };
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= curve.x.size(); ++i) {
    if (i < curve.x.size() && column(i) == column(begin)) continue;
    add_column(curve, begin, i, result);
    begin = i;
  }
  return result;
}

}  // namespace warpscope::runs
