#pragma once
// A plot for a file: the page that gpu/export writes as SVG, as pixels.

#include "gpu/export/svg_plot.h"
#include "ui/plot/picture.h"

namespace warpscope::ui::plot {

/// The page at twice its size, 1920 x 1080 pixels, in the window's fonts. Needs neither a display nor OpenGL.
/// Throws core::Error.
Picture draw_page(const runs::Plot& plot);

}  // namespace warpscope::ui::plot
