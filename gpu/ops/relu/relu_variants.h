#pragma once
// The factories behind relu_table.cpp. Each is defined in the file named for its variant: relu_<variant>.cpp
// or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::relu {

Variant reference_forward();
Variant reference_backward();

Variant loops_forward();
Variant loops_backward();

Variant onednn_forward();
Variant onednn_backward();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant naive_backward();

Variant vectorized_forward();
Variant vectorized_backward();
#endif

}  // namespace warpscope::ops::relu
