#pragma once
// What a right click on the curves opens: a look at what was kept of the step under the pointer, or at that step
// computed again aside, both of which leave the training where it is, and the training's own way back to that step.

#include <cstdint>
#include <string>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// "Look at step 1,234".
std::string look_title(std::uint64_t step);
/// "Rewind the training to step 1,234".
std::string rewind_title(std::uint64_t step);
/// How that step is reached: "kept", "computed again from step 1,000"; "" if it is not.
std::string rewind_note(const training::Snapshot& snapshot, std::uint64_t step);
/// The same where views show what was kept next to that step, with how long the steps take that are computed again:
/// "rewind the training (0.3 s)"; on the way "rewinding: step 612 of 668"; "" for a step that the training is at, or
/// cannot go back to.
std::string rewind_offer(const training::Snapshot& snapshot, std::uint64_t step);
/// "rewinding the training to step 668: step 612 is computed again".
std::string rewind_progress(const training::Rewind& rewind);
/// Why the training cannot go back to that step, as a sentence; "" if it can.
std::string why_no_rewind(const training::Snapshot& snapshot, std::uint64_t step);

/// "Compute step 1,234 aside".
std::string aside_title(std::uint64_t step);
/// As rewind_offer(): "compute it aside (0.3 s)", "computing: step 612 of 668"; "" for one that is there.
std::string aside_offer(const training::Snapshot& snapshot, std::uint64_t step);
/// Why that step cannot be computed aside, as a sentence; "" if it can.
std::string why_no_aside(const training::Snapshot& snapshot, std::uint64_t step);

class RewindMenu {
 public:
  /// Opens at the pointer.
  void open(std::uint64_t step) {
    step_ = step;
    opens_ = true;
  }
  /// Within the window of the plots.
  void draw(const Frame& frame);

 private:
  void draw_look(const Frame& frame) const;

  std::uint64_t step_ = 0;
  bool opens_ = false;
};

}  // namespace warpscope::ui
