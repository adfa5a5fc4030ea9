#pragma once
// The strip below the toolbar that says that this window shows a run of another process.

#include <cstdint>
#include <optional>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// Height of the strip in design pixels; 0 where the training is this process's.
float view_strip_height(const Frame& frame);

/// "Viewing runs/x · running in another process", in the window that place_next_window() has placed.
/// `pinned`: the step that is pinned, to which the checkpoint is the nearest.
void draw_view_strip(const Frame& frame, std::optional<std::uint64_t> pinned);

}  // namespace warpscope::ui
