#pragma once
// The "Optimizer" tab: rule, its numbers, clipping, what counts as a loss that diverges, accumulation, and
// the faulty scheme.

#include "ui/frame/frame.h"
#include "ui/panels/settings_controller.h"

namespace warpscope::ui {

class OptimizerView {
 public:
  /// The learning rate, which stands above all tabs. What was refused goes to `refusal`, which is emptied
  /// when a value is taken.
  void draw_rate(const Frame& frame, SettingsController& controller, Refusal& refusal);
  void draw(const Frame& frame, SettingsController& controller, Refusal& refusal);

 private:
  void draw_rule(const Frame& frame, SettingsController& controller);
  void draw_accumulate(const Frame& frame, SettingsController& controller, Refusal& refusal);
  void draw_scheme(const Frame& frame, SettingsController& controller);
};

}  // namespace warpscope::ui
