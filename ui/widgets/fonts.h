#pragma once
// Finds and loads the fonts.

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// Fills ImGui's font atlas: Inter for text and JetBrains Mono for numbers from the distribution's folders,
/// DejaVu in their place, Dear ImGui's own font if there is none. `scale` is pixels of the window per design
/// pixel, `text_size` the size of a line of text in design pixels; `density` is pixels of the framebuffer per pixel of
/// the window (not 1 on Wayland and where the system scales windows itself). The atlas's texture must be made anew
/// afterwards.
Fonts load_fonts(float scale, float density, int text_size = 16);

}  // namespace warpscope::ui
