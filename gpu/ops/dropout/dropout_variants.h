#pragma once
// The factories behind dropout_table.cpp. Each is defined in the file named for its variant: dropout_<variant>.cpp
// or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::dropout {

Variant reference_forward();
Variant reference_backward();

Variant loops_forward();
Variant loops_backward();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant naive_backward();

Variant vectorized_forward();
Variant vectorized_backward();
#endif

}  // namespace warpscope::ops::dropout
