#pragma once
// The "Schedule" tab: how the learning rate changes over the run, previewed before it is applied.

#include <map>
#include <optional>
#include <string>

#include "gpu/settings/schedule.h"
#include "ui/frame/frame.h"
#include "ui/panels/training/settings_controller.h"
#include "ui/plot/chart.h"
#include "ui/plot/curve.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

/// Where the training stands, as far as a schedule looks at it.
struct ScheduleMoment {
  double base_rate = 0;
  double epoch = 0;
  double total_epochs = 0;  ///< 0 if there is no limit
};

struct SchedulePreview {
  std::string refusal;   ///< why the schedule cannot be applied; "" if it can
  std::string sentence;  ///< what stands in place of the curve: for plateau and where there is a refusal
  plot::Series rates;    ///< over epochs; empty where there is a sentence
  plot::Range x, y;      ///< y is logarithmic if the rates span more than two decades
};

/// The curve over the run, or, of a run without end, over enough epochs to see what the schedule does.
SchedulePreview preview_of(const training::Schedule& schedule, const ScheduleMoment& moment);

/// "drops every few epochs": what a kind does.
const char* schedule_note(training::ScheduleKind kind);

/// The row of a parameter: "training.schedule.warmup".
ValueSpec spec_of(const training::ScheduleParameter& parameter);

class ScheduleView {
 public:
  /// What was refused goes to `refusal`.
  void draw(const Frame& frame, SettingsController& controller, Refusal& refusal);

 private:
  void draw_kind(const Frame& frame);
  void draw_apply(const Frame& frame, SettingsController& controller, const SchedulePreview& preview);
  void draw_parameters(const Frame& frame, Refusal& refusal);

  training::Schedule draft_;
  std::optional<training::Schedule> seen_;  ///< the trainer's when it last changed: the draft then follows it
  std::map<std::string, ValueField> fields_;
};

}  // namespace warpscope::ui
