#pragma once
// The "Optimizer" tab: rule, its numbers, clipping, what counts as a loss that diverges, accumulation, and
// the faulty scheme.

#include <map>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/pending.h"
#include "ui/settings/setting_spec.h"

namespace warpscope::ui {

/// The optimizer's settings between window and trainer, for all tabs.
class OptimizerController {
 public:
  /// The settings as they are, or as they will be once the trainer has taken them.
  training::OptimizerSettings settings(const Frame& frame);
  /// Sends settings that differ from those.
  void send(const Frame& frame, const training::OptimizerSettings& settings);

 private:
  Pending<training::OptimizerSettings> pending_;
};

class OptimizerView {
 public:
  /// The learning rate, which stands above all tabs. What was refused goes to `refusal`, which is emptied
  /// when a value is taken.
  void draw_rate(const Frame& frame, OptimizerController& controller, Refusal& refusal);
  void draw(const Frame& frame, OptimizerController& controller, Refusal& refusal);

 private:
  void draw_rule(const Frame& frame, OptimizerController& controller);
  void draw_field(const Frame& frame, OptimizerController& controller, const training::Setting& row,
                  Refusal& refusal);
  void draw_spikes(const Frame& frame, Refusal& refusal);
  void draw_accumulate(const Frame& frame, OptimizerController& controller, Refusal& refusal);
  void draw_scheme(const Frame& frame, OptimizerController& controller);

  std::map<std::string, ValueField> fields_;
  Pending<double> pending_threshold_;
};

}  // namespace warpscope::ui
