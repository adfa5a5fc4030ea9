#pragma once
// The factories behind augment_table.cpp. Each is defined in the file named for its variant:
// augment_<variant>.cpp or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::augment {

Variant reference_augment();

Variant loops_augment();

#if WARPSCOPE_HAVE_CUDA
Variant naive_augment();

Variant vectorized_augment();
Variant vectorized_fused_augment();
#endif

}  // namespace warpscope::ops::augment
