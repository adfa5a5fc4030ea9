#pragma once
// The strip below the toolbar that says that this window shows a run of another process.

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// Height of the strip in design pixels; 0 where the training is this process's.
float view_strip_height(const Frame& frame);

/// "Viewing runs/x · running in another process", in the window that place_next_window() has placed.
void draw_view_strip(const Frame& frame);

}  // namespace warpscope::ui
