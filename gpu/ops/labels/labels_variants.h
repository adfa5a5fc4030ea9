#pragma once
// The factories behind labels_table.cpp. Each is defined in the file named for its variant:
// labels_<variant>.cpp or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::labels {

Variant reference_gather();

Variant loops_gather();

#if WARPSCOPE_HAVE_CUDA
Variant naive_gather();
#endif

}  // namespace warpscope::ops::labels
