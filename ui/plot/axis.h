#pragma once
// Axes and ticks: those that the plots of files use too.

#include "gpu/charts/axis.h"

namespace warpscope::ui::plot {

using charts::Axis;
using charts::PixelScale;
using charts::Tick;
using charts::ticks;
using charts::Unit;
using charts::value_text;

}  // namespace warpscope::ui::plot
