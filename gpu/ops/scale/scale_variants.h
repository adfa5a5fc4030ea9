#pragma once
// The factories behind scale_table.cpp. Each is defined in the file named for its variant: scale_<variant>.cpp
// or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::scale {

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

}  // namespace warpscope::ops::scale
