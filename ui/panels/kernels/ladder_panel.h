#pragma once
// The ladder: images/s of every selection tried in this run, in order.

#include <span>

#include "ui/frame/frame.h"
#include "ui/jobs/laboratory_controller.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class LadderPanel {
 public:
  static std::span<const Column> columns();
  /// Draws the rest of the title row of the panel that the caller has begun, and the body.
  void draw(const Frame& frame, LaboratoryController& controller);

 private:
  void draw_baseline(const Frame& frame, LaboratoryController& controller, double loops);

  bool asked_ = false;  ///< the baseline was measured once without being asked for
};

}  // namespace warpscope::ui
