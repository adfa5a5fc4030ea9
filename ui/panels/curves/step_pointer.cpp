#include "ui/panels/curves/step_pointer.h"

#include <utility>

namespace warpscope::ui {

void StepPointer::move(Cursor& cursor, const Hand& hand) {
  if (over_ && cursor.step != shown_) over_ = false;
  if (hand.doubled && over_) kept_ = before_click_;
  if (hand.over && (hand.moved || hand.clicked)) {
    if (!over_) kept_ = cursor.step;
    over_ = true;
    if (hand.clicked) before_click_ = std::exchange(kept_, hand.on_kept ? std::nullopt : hand.step);
    cursor.step = shown_ = hand.step;
  } else if (over_ && !hand.over) {
    over_ = false;
    cursor.step = kept_;
  }
  cursor.passing = over_ && !kept_;
}

}  // namespace warpscope::ui
