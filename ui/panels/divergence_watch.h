#pragma once
// Whether the last divergence still waits for an answer. No drawing here.

#include <cstdint>

#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// Open from the pause that a divergence brings until the training runs again, starts anew or ends.
class DivergenceWatch {
 public:
  /// To be called with each snapshot; true while there is something to answer.
  bool open(const training::Snapshot& snapshot) {
    const auto& divergence = snapshot.divergence;
    if (divergence.id != id_) {
      id_ = divergence.id;
      paused_ = answered_ = false;
    }
    const bool paused = snapshot.state == training::TrainerState::paused;
    // The steps under way when it was found may still be running.
    if (paused) paused_ = true;
    if (paused_ && snapshot.state == training::TrainerState::running) answered_ = true;
    return id_ > 0 && !divergence.text.empty() && paused && !answered_;
  }

 private:
  std::uint64_t id_ = 0;
  bool paused_ = false;    ///< since this divergence
  bool answered_ = false;  ///< it ran again
};

}  // namespace warpscope::ui
