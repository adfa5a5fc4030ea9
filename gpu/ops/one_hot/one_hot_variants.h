#pragma once
// The factories behind one_hot_table.cpp. Each is defined in the file named for its variant: one_hot_<variant>.cpp
// or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::one_hot {

Variant reference_forward();
Variant loops_forward();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant vectorized_forward();
#endif

}  // namespace warpscope::ops::one_hot
