#pragma once
// The factories behind sgd_table.cpp. Each is defined in the file named for its variant: sgd_<variant>.cpp or
// .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::sgd {

Variant reference_update();

Variant loops_update();

#if WARPSCOPE_HAVE_CUDA
Variant naive_update();

Variant vectorized_update();
#endif

}  // namespace warpscope::ops::sgd
