#pragma once
// The settings between window and trainer, for all tabs, and their rows as fields.

#include <map>
#include <string>

#include "gpu/settings/setting.h"
#include "ui/frame/frame.h"
#include "ui/panels/pending.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

class SettingsController {
 public:
  /// The settings as they are, or as they will be once the trainer has taken them; valid until the next call.
  const training::TrainingSettings& settings(const Frame& frame);
  /// Sends what of `wanted` differs from those.
  void send(const Frame& frame, const training::TrainingSettings& wanted);
  void send(const Frame& frame, const training::OptimizerSettings& wanted);

  /// A number or a switch, as its row has it. A number is disabled where `why_not`, which its tip then says, is not "".
  /// What was refused goes to `refusal`, which is emptied when a value is taken.
  void draw(const Frame& frame, const training::Setting& row, Refusal& refusal,
            const std::string& why_not = "");
  /// The same with a `spec` of its own.
  void draw(const Frame& frame, const training::Setting& row, ValueSpec spec, Refusal& refusal,
            const std::string& why_not = "");

 private:
  void draw_switch(const Frame& frame, const training::Setting& row, const ValueSpec& spec);
  void set(const Frame& frame, const training::Setting& row, const training::Value& value);

  Pending pending_;
  std::map<std::string, ValueField> fields_;
};

}  // namespace warpscope::ui
