#pragma once
// The box that asks what to do after a loss that is not finite, or a spike.

#include <cstdint>
#include <string>

#include "gpu/messages/snapshot.h"
#include "ui/frame/frame.h"

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

/// Why RollBack is not possible, where it is not.
std::string why_no_way_back(const training::Snapshot& snapshot);

class DivergenceBox {
 public:
  /// Draws the box, if there is something to answer, with its lower right corner at `corner`. It stays until
  /// the training runs again; it can be folded to its title.
  void draw(const Frame& frame, ImVec2 corner);

 private:
  void draw_title(const Frame& frame, float width);

  DivergenceWatch watch_;
  std::uint64_t drawn_id_ = 0;
  bool folded_ = false;
  bool open_ = false;
};

}  // namespace warpscope::ui
