#pragma once
// Where each panel stands: a toolbar on top, loss and images, kernels and training, a status bar. Splitters
// between them can be dragged; no panel gets smaller than it can be read.

#include <imgui.h>

#include "ui/frame.h"
#include "ui/settings.h"

namespace warpscope::ui {

struct Box {
  ImVec2 min;
  ImVec2 max;

  float width() const { return max.x - min.x; }
  float height() const { return max.y - min.y; }
};

struct Layout {
  Box toolbar, strip, loss, images, kernels, training, status;
  Box all;                                           ///< everything between toolbar and status bar
  Box row_splitter, upper_splitter, lower_splitter;  ///< the gaps that can be dragged
};

/// Divides a window of `size` pixels. Fits from 1024 x 640 design pixels up; smaller windows shrink every
/// panel alike. `strip` design pixels are left below the toolbar.
Layout arrange(const Splits& splits, ImVec2 size, float scale, float strip = 0);

/// Draws the window behind the panels, whose gaps are the splitters, and changes `splits` while one is
/// dragged. Double-clicking a splitter puts it back. To be called after the panels: of windows that never
/// come to the front ImGui puts the one made last behind the others.
void drag_splitters(const Frame& frame, const Layout& layout, Splits& splits);

/// Makes the next ImGui window fill `box`.
void place_next_window(const Box& box);

}  // namespace warpscope::ui
