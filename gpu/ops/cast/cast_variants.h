#pragma once
// The factories behind cast_table.cpp. Each is defined in the file named for its variant: cast_<variant>.cpp
// or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::cast {

Variant reference_weights();
Variant reference_widen();

Variant loops_weights();
Variant loops_widen();

#if WARPSCOPE_HAVE_CUDA
Variant vectorized_weights();
Variant vectorized_widen();
#endif

}  // namespace warpscope::ops::cast
