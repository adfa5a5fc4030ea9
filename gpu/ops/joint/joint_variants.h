#pragma once
// The factories behind joint_table.cpp. Each is defined in the file named for its variant: joint_<variant>.cpp or
// .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::joint {

Variant reference_weigh();

Variant loops_weigh();

#if WARPSCOPE_HAVE_CUDA
Variant naive_weigh();
#endif

}  // namespace warpscope::ops::joint
