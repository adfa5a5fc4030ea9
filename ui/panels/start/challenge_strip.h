#pragma once
// The row below the toolbar that shows the challenge that is under way: its goal, how far it is, done.

#include <optional>

#include "ui/frame/frame.h"
#include "ui/panels/start/challenge_rows.h"

namespace warpscope::ui {

class ChallengeStrip {
 public:
  /// Begins a challenge in place of the one that there is.
  void begin(const Frame& frame, const ChallengeRow& row);
  /// Once a frame: looks at the training and sends what belongs to the challenge.
  void follow(const Frame& frame);
  /// Height of the row in design pixels; 0 while there is no challenge.
  float height(const Frame& frame) const;
  /// In the window that place_next_window() has placed. The id of a panel that is asked for, or nullptr.
  const char* draw(const Frame& frame);

 private:
  std::optional<Challenge> challenge_;
  std::string traced_;
};

}  // namespace warpscope::ui
