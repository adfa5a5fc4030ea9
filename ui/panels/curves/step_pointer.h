#pragma once
// The pointer over the curves moves the cursor along: while it is there all views show the step under it, a click keeps
// that step. No drawing here.

#include <cstdint>
#include <optional>

#include "ui/input/cursor.h"

namespace warpscope::ui {

class StepPointer {
 public:
  /// What the pointer does this frame.
  struct Hand {
    bool over = false;   ///< it is over a curve
    bool moved = false;  ///< since the frame before
    bool clicked = false;
    bool on_kept = false;  ///< the click is on the line of the step that is kept: lets it go
    bool doubled = false;  ///< a double click, which means something else: its first click counts as none
    std::optional<std::uint64_t> step{};  ///< under it; nothing: the newest
  };

  /// Sets the cursor's step, and whether it is only passing: under the pointer that of the pointer, else the one that
  /// was there before it came. Where somebody else moves the cursor meanwhile, theirs stays until the pointer moves.
  void move(Cursor& cursor, const Hand& hand);
  /// Nothing stays when the pointer goes, and the newest is shown; false if that was so.
  bool let_go(Cursor& cursor) {
    const bool held = kept(cursor).has_value();
    kept_.reset();
    return let_step_go(cursor) || held;
  }
  /// The step that stays when the pointer goes.
  std::optional<std::uint64_t> kept(const Cursor& cursor) const { return over_ ? kept_ : cursor.step; }

 private:
  bool over_ = false;
  std::optional<std::uint64_t> kept_, before_click_, shown_;
};

}  // namespace warpscope::ui
