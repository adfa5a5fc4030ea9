#pragma once
// The factories behind mixed_cross_entropy_table.cpp. Each is defined in the file named for its variant:
// mixed_cross_entropy_<variant>.cpp or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::mixed_cross_entropy {

Variant reference_forward();
Variant reference_backward();

Variant loops_forward();
Variant loops_backward();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant naive_backward();

Variant warp_shuffle_forward();
Variant warp_shuffle_fused_forward();
Variant warp_shuffle_backward();
#endif

}  // namespace warpscope::ops::mixed_cross_entropy
