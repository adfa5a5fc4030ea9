#pragma once
// The factories behind bias_table.cpp. Each is defined in the file named for its variant: bias_<variant>.cpp
// or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::bias {

Variant reference_forward();

Variant loops_forward();

Variant onednn_forward();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();

Variant vectorized_forward();
#endif

}  // namespace warpscope::ops::bias
