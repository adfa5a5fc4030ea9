#pragma once
// The ladder: images/s of every selection tried in this run, in order.

#include "ui/frame.h"
#include "ui/laboratory_controller.h"

namespace warpscope::ui {

class LadderPanel {
 public:
  /// Draws the rest of the title row of the panel that the caller has begun, and the body.
  void draw(const Frame& frame, LaboratoryController& controller);

 private:
  void draw_baseline(const Frame& frame, LaboratoryController& controller, double loops);

  bool asked_ = false;  ///< the baseline was measured once without being asked for
};

}  // namespace warpscope::ui
