#pragma once
// The factories behind batch_table.cpp. Each is defined in the file named for its variant:
// batch_<variant>.cpp or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::batch {

Variant reference_gather();

Variant loops_gather();

#if WARPSCOPE_HAVE_CUDA
Variant naive_gather();

Variant vectorized_gather();
Variant vectorized_fused_gather();
#endif

}  // namespace warpscope::ops::batch
