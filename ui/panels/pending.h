#pragma once
// What a person has chosen and the trainer has not taken up yet. No drawing here.

#include <cstdint>

#include "gpu/messages/snapshot.h"
#include "gpu/settings/configuration.h"

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

}  // namespace warpscope::ui
