#pragma once
// The box that asks what to do after a loss that is not finite, or a spike.

#include "ui/frame/frame.h"
#include "ui/panels/divergence_watch.h"

namespace warpscope::ui {

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
