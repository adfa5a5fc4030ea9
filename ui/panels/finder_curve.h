#pragma once
// The learning-rate range test as curves. No drawing here.

#include "gpu/settings/rate_finder.h"
#include "ui/plot/chart.h"
#include "ui/plot/curve.h"

namespace warpscope::ui {

struct FinderCurve {
  plot::Series raw, smoothed;  ///< loss over rate
  plot::Range x, y;
};

/// The axes: x goes from the first rate of `options` to its last one while the test runs, then to the last
/// rate reached, over at least two decades; y from the lowest smoothed loss to half as much again above the
/// highest before it, so that a loss that blows up leaves the picture instead of flattening it.
FinderCurve finder_curve(const training::RateFinderResult& result, const training::RateFinderOptions& options,
                         bool running);

}  // namespace warpscope::ui
