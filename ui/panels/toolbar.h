#pragma once
// The top row: start, pause, step, reset; what is trained on what; how fast and how far; whether it is recorded.

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// What was clicked on at the right end.
struct ToolbarRequests {
  bool help = false;
  bool menu = false;  ///< the window's own
};

class Toolbar {
 public:
  /// Draws it into the window the layout has placed. `help_open` is toggled by its help button.
  ToolbarRequests draw(const Frame& frame);

 private:
  /// Brings word and list up to date: they walk all variants, so they are not made each frame.
  void describe(const training::Snapshot& snapshot);
  plan::Selection described_;
  std::string word_, list_;  ///< selection_word() and selection_list() of it
};

/// The colour that stands for the state of the training.
ImU32 state_color(const Frame& frame);

/// Start or pause, whichever the state allows: what the space key does too.
void send_start_or_pause(const Frame& frame);

}  // namespace warpscope::ui
