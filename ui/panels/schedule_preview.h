#pragma once
// What a schedule would do to the learning rate, for its plot. No drawing here.

#include <string>

#include "gpu/settings/schedule.h"
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

}  // namespace warpscope::ui
