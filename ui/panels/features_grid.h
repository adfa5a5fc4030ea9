#pragma once
// A search over C and gamma as a heat map.

#include <optional>

#include "ui/frame/frame.h"
#include "ui/jobs/features_controller.h"

namespace warpscope::ui {

/// The body of the view: button, table of accuracies. A click on a cell takes its C and gamma and judges them.
void draw_features_grid(const Frame& frame, FeaturesController& controller);

}  // namespace warpscope::ui
