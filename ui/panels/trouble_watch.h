#pragma once
// Whether the last trouble still waits for an answer. No drawing here.

#include <cstdint>

#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// Open from the pause that a trouble brings until the training runs again, starts anew or ends.
class TroubleWatch {
 public:
  /// To be called with each snapshot; true while there is something to answer.
  bool open(const training::Snapshot& snapshot) {
    const auto& trouble = snapshot.trouble;
    if (trouble.id != id_) {
      id_ = trouble.id;
      paused_ = answered_ = false;
    }
    const bool paused = snapshot.state == training::TrainerState::paused;
    // The steps under way when it was found may still be running.
    if (paused) paused_ = true;
    if (paused_ && snapshot.state == training::TrainerState::running) answered_ = true;
    return id_ > 0 && !trouble.text.empty() && paused && !answered_;
  }

 private:
  std::uint64_t id_ = 0;
  bool paused_ = false;    ///< since this trouble
  bool answered_ = false;  ///< it ran again
};

}  // namespace warpscope::ui
