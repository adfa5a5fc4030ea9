#pragma once
// The factories behind step_table.cpp. Each is defined in the file named for its variant: step_<variant>.cpp
// or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::step {

Variant reference_record();
Variant reference_micro_batch();

Variant loops_record();
Variant loops_micro_batch();

#if WARPSCOPE_HAVE_CUDA
Variant naive_record();
Variant naive_micro_batch();
#endif

}  // namespace warpscope::ops::step
