#pragma once
// The factories behind layer_norm_table.cpp. Each is defined in a file named for its variant:
// layer_norm_<variant>.cpp or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::layer_norm {

Variant reference_forward();
Variant reference_backward_input();
Variant reference_backward_weights();

Variant loops_forward();
Variant loops_backward_input();
Variant loops_backward_weights();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant naive_backward_input();
Variant naive_backward_weights();

Variant warp_shuffle_forward();
Variant warp_shuffle_backward_input();
Variant warp_shuffle_backward_weights();

Variant pooled_forward();
Variant pooled_backward_weights();
#endif

}  // namespace warpscope::ops::layer_norm
