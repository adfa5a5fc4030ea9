#pragma once
// What a right click on the curves opens: the way back to the step under the pointer.

#include <cstdint>
#include <string>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// "Go back to step 1,234".
std::string rewind_title(std::uint64_t step);
/// How that step is reached: "kept", "computed again from step 1,000"; "" if it is not.
std::string rewind_note(const training::Snapshot& snapshot, std::uint64_t step);
/// The same where views show what was kept next to that step, with how long it takes: "computed again in 0.3 s"; ""
/// for a step that the training is at, or cannot go back to.
std::string again_text(const training::Snapshot& snapshot, std::uint64_t step);
/// "on the way back to step 668: step 612 is computed again".
std::string rewind_progress(const training::Rewind& rewind);
/// Why the training cannot go back to that step, as a sentence; "" if it can.
std::string why_no_rewind(const training::Snapshot& snapshot, std::uint64_t step);

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
  std::uint64_t step_ = 0;
  bool opens_ = false;
};

}  // namespace warpscope::ui
