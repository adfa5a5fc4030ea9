#pragma once
// The factories behind step_table.cpp. Each is defined in the file named for its variant: step_<variant>.cpp
// or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::step {

Variant reference_record();

Variant loops_record();

#if WARPSCOPE_HAVE_CUDA
Variant naive_record();
#endif

}  // namespace warpscope::ops::step
