#pragma once
// The settings between window and trainer, for all tabs, and their rows as fields.

#include <cstdint>
#include <map>
#include <string>

#include "gpu/messages/snapshot.h"
#include "gpu/settings/configuration.h"
#include "gpu/settings/setting.h"
#include "ui/frame/frame.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

/// The trainer takes a command at its next step boundary. Until then the sent values are shown, and further
/// changes build on them: a second one sent at once must not take back the first.
class Pending {
 public:
  void sent(const training::Configuration& change, const training::Snapshot& snapshot, double now);
  /// The trainer's settings with what is on its way. Forgets what has arrived, what was refused (a new notice) and
  /// what is overdue. Valid until the next call.
  const training::TrainingSettings& shown(const training::Snapshot& snapshot, double now);

 private:
  // A step of a large network on the CPU may take seconds.
  static constexpr double kMostSeconds = 20;

  training::Configuration change_;
  training::TrainingSettings shown_;
  std::uint64_t notice_id_ = 0;
  std::uint64_t generation_ = 0;
  double until_ = 0;
};

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
