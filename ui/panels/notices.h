#pragma once
// Refusals and errors as a bar in the lower right corner of the window.

#include <cstdint>
#include <string>
#include <utility>

#include "gpu/messages/feed.h"
#include "ui/frame/frame.h"

namespace warpscope::ui {

class Notices {
 public:
  /// Shows `text` until it is dismissed, replaced, or has been there for a while. For the window's own messages. A
  /// button unfolds `details`, a line each; the bar is at most a third of the window high, then it scrolls.
  void show(std::string text, training::LogLevel level, std::string details = {});
  /// A button below the text that show() has set, with its tool-tip.
  void offer(std::string label, std::string tip) {
    offer_ = std::move(label);
    offer_tip_ = std::move(tip);
  }
  /// True once after somebody has clicked on it.
  bool take_offer() { return std::exchange(taken_, false); }
  /// Takes a new notice from the snapshot and draws the current one. An error that ended the training stays
  /// until it is dismissed. True if the notice is new in this frame.
  bool draw(const Frame& frame);
  const std::string& text() const { return text_; }

 private:
  void draw_bar(const Frame& frame);
  void draw_buttons(const Frame& frame);

  std::uint64_t last_id_ = 0;
  std::string text_;  ///< "" while nothing is shown
  std::string details_;
  std::string offer_, offer_tip_;  ///< "" for none
  bool taken_ = false;
  bool unfolded_ = false;
  training::LogLevel level_ = training::LogLevel::info;
  bool stays_ = false;
  bool quiet_ = false;  ///< it is only in the log: the divergence box (divergence_box.h) says it
  double until_ = 0;    ///< ImGui time
};

}  // namespace warpscope::ui
