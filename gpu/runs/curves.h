#pragma once
// Series of a run as curves: over steps, epochs or seconds, and with no more points than a plot can show.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/runs/run_reader.h"

namespace warpscope::runs {

enum class Over : std::uint8_t { step, epoch, seconds };

struct Curve {
  std::vector<double> x;  ///< not decreasing
  std::vector<double> y;  ///< finite
};

/// The names of all series of a run: those of its steps, then those of its tests.
std::vector<std::string> series_names(const RunPoints& points);

/// The points of `series` that have a value and a place on the x axis, in order. Empty if the run has no such
/// series.
Curve curve_of(const RunPoints& points, std::string_view series, Over over);

/// Where a step lies on the x axis: at the first training step that is not before it, or the last one. 0
/// without steps.
double place_of(const RunPoints& points, std::uint64_t step, Over over);

/// The curve thinned to at most four points for each of `columns` equal parts of its x range: the first, the
/// smallest, the largest and the last, so that every extreme stays. Throws nothing; `columns` is at least 1.
Curve thinned(const Curve& curve, int columns);

}  // namespace warpscope::runs
