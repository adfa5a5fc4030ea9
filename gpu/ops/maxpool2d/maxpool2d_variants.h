#pragma once
// The factories behind maxpool2d_table.cpp. Each is defined in the file named for its variant:
// maxpool2d_<variant>.cpp or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::maxpool2d {

Variant reference_forward();
Variant reference_backward();

Variant loops_forward();
Variant loops_backward();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant vectorized_forward();

Variant atomic_backward();
Variant gather_backward();
Variant direct_backward();
#endif

}  // namespace warpscope::ops::maxpool2d
