#pragma once
// The factories behind add_table.cpp. Each is defined in the file named for its variant: add_<variant>.cpp or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::add {

Variant reference_forward();

Variant loops_forward();

Variant onednn_forward();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();

Variant vectorized_forward();
#endif

}  // namespace warpscope::ops::add
