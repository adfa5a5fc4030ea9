#pragma once
// Plots as pixels, drawn as the window draws.

#include <string>

#include "gpu/export/svg_plot.h"

namespace warpscope::app {

/// The plot as a PNG file. Throws core::BadInput in a build without the window.
std::string png_of(const runs::Plot& plot);

}  // namespace warpscope::app
