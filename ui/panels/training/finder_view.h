#pragma once
// The "Finder" tab: the learning-rate range test.

#include <memory>

#include "gpu/settings/rate_finder.h"
#include "ui/frame/frame.h"
#include "ui/panels/training/settings_controller.h"
#include "ui/plot/chart.h"
#include "ui/plot/curve.h"
#include "ui/widgets/value_field.h"

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

class FinderView {
 public:
  /// What was refused goes to `refusal`.
  void draw(const Frame& frame, SettingsController& controller, Refusal& refusal);

 private:
  void draw_range(const Frame& frame, Refusal& refusal);
  void draw_start(const Frame& frame);
  void draw_plot(const Frame& frame, const training::RateFinderResult& result, float height);

  training::RateFinderOptions options_;
  ValueField low_, high_;
  std::shared_ptr<const training::RateSearch> shown_;  ///< what `curve_` was made of
  FinderCurve curve_;
};

}  // namespace warpscope::ui
