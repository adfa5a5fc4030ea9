#pragma once
// The parts of the window that stay where they are: a toolbar on top, a status bar below, the panels between.

#include <imgui.h>

#include "ui/docking/docking.h"

namespace warpscope::ui {

struct Layout {
  Area toolbar, strip, panels, status;
};

/// The gap between panels, in design pixels.
inline constexpr float kPanelGap = 6;

/// Divides a window of `size` pixels. Rows of text are `row` pixels high; `strip` design pixels are left below the
/// toolbar.
Layout arrange(ImVec2 size, float scale, float row, float strip = 0);

/// Makes the next ImGui window fill `area`.
void place_next_window(const Area& area);

}  // namespace warpscope::ui
