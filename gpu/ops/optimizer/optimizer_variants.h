#pragma once
// The factories behind optimizer_table.cpp. Each is defined in the file named for its variant:
// optimizer_<variant>.cpp or .cu for the updates, gradients_<variant>.cpp or .cu for what comes before them.

#include "gpu/ops/variant.h"

namespace warpscope::ops::optimizer {

Variant reference_update();
Variant reference_update_per_sample();
Variant reference_accumulate();
Variant reference_keep();
Variant reference_norm();

Variant loops_update();
Variant loops_update_per_sample();
Variant loops_accumulate();
Variant loops_keep();
Variant loops_norm();

#if WARPSCOPE_HAVE_CUDA
Variant naive_update();
Variant naive_accumulate();
Variant naive_keep();
Variant naive_norm();

Variant atomic_update_per_sample();

Variant vectorized_update();
Variant vectorized_accumulate();
Variant vectorized_keep();
Variant vectorized_norm();
#endif

}  // namespace warpscope::ops::optimizer
