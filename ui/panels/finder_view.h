#pragma once
// The "Finder" tab: the learning-rate range test.

#include <memory>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/finder_curve.h"
#include "ui/panels/settings_controller.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

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
