#pragma once
// Numbers as people read them: those that the plots of files use too.

#include "gpu/charts/numbers.h"

namespace warpscope::ui {

using charts::bytes_text;
using charts::clock_text;
using charts::compact_number;
using charts::si_number;
using charts::with_thousands;

}  // namespace warpscope::ui
