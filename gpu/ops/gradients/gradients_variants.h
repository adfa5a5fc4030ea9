#pragma once
// The factories behind gradients_table.cpp. Each is defined in the file named for its variant: gradients_<variant>.cpp or
// .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::gradients {

Variant reference_check();

Variant loops_check();

#if WARPSCOPE_HAVE_CUDA
Variant vectorized_check();
#endif

}  // namespace warpscope::ops::gradients
