#pragma once
// Keys, mouse, and what each panel shows.

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// Draws the overlay over everything while `*open`; a click beside it closes it.
void draw_help(const Frame& frame, bool* open);

}  // namespace warpscope::ui
