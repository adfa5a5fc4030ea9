#pragma once
// The factories behind global_average_pool_table.cpp. Each is defined in the file named for its variant:
// global_average_pool_<variant>.cpp or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::global_average_pool {

Variant reference_forward();
Variant reference_backward();

Variant loops_forward();
Variant loops_backward();

Variant onednn_forward();
Variant onednn_backward();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant naive_backward();

Variant warp_shuffle_forward();

Variant vectorized_backward();
#endif

}  // namespace warpscope::ops::global_average_pool
