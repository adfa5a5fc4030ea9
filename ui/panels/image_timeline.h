#pragma once
// The slider under the pictures: through the steps of which pictures are kept, to the newest.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// Where `step` stands among the kept steps: the index of the last that is not after it, 0 before the first.
std::size_t kept_index(const std::vector<std::uint64_t>& steps, std::uint64_t step);

/// How old the newest pictures are: "now", "34 steps ago, step 412".
std::string age_text(std::uint64_t newest_step, std::uint64_t shown_step);

class ImageTimeline {
 public:
  /// One row of the panel; the pictures shown are those of `shown_step`. Changes Cursor::step.
  void draw(const Frame& frame, std::uint64_t shown_step);
  /// The row's height in pixels; 0 where there is nothing to go back to.
  static float height(const Frame& frame);

 private:
  void play(const Frame& frame, const std::vector<std::uint64_t>& steps);

  bool playing_ = false;
  double next_ = 0;  ///< ImGui time of the next picture while it plays
};

}  // namespace warpscope::ui
