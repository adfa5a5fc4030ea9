#pragma once
// The CUDA half of live_units.h.

#include "gpu/statistics/live_units.h"

namespace warpscope::statistics {

void find_live_units_cuda(core::Stream& stream, const UnitCall& call);

}  // namespace warpscope::statistics
