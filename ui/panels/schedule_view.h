#pragma once
// The "Schedule" tab: how the learning rate changes over the run, previewed before it is applied.

#include <map>
#include <optional>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/schedule_preview.h"
#include "ui/panels/settings_controller.h"

namespace warpscope::ui {

class ScheduleView {
 public:
  /// What was refused goes to `refusal`.
  void draw(const Frame& frame, SettingsController& controller, Refusal& refusal);

 private:
  void draw_kind(const Frame& frame);
  void draw_apply(const Frame& frame, SettingsController& controller, const SchedulePreview& preview);
  void draw_parameters(const Frame& frame, Refusal& refusal);
  void draw_preview(const Frame& frame, const SchedulePreview& preview);

  training::Schedule draft_;
  std::optional<training::Schedule> seen_;  ///< the trainer's when it last changed: the draft then follows it
  std::map<std::string, ValueField> fields_;
};

}  // namespace warpscope::ui
