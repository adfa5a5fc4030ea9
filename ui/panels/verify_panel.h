#pragma once
// Verify: every variant in every precision against the double-precision reference, as a table.

#include <span>

#include "ui/frame/frame.h"
#include "ui/jobs/laboratory_controller.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class VerifyPanel {
 public:
  static std::span<const Column> columns();
  /// Draws the rest of the title row of the panel that the caller has begun, and the body.
  void draw(const Frame& frame, LaboratoryController& controller);

 private:
  bool failures_only_ = false;
};

}  // namespace warpscope::ui
