#pragma once
// The look: colours, spacing and rounding.

#include "ui/frame.h"

namespace warpscope::ui {

/// The colours of the dark theme. Data series are the palette of M. Okabe and K. Ito, "Color Universal
/// Design" (2008), which stays distinguishable with each kind of colour blindness.
Palette dark_palette();

/// Sets ImGui's colours and sizes for `scale` pixels per design pixel.
void apply_theme(float scale);

/// The colour of the window behind the panels, drawn by clearing.
ImVec4 window_background();

}  // namespace warpscope::ui
