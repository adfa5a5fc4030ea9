#pragma once
// The factories behind embedding_table.cpp. Each is defined in the file named for its variant: embedding_<variant>.cpp
// or .cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::embedding {

Variant reference_forward();
Variant reference_backward_weights();

Variant loops_forward();
Variant loops_backward_weights();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant naive_backward_weights();

Variant atomic_backward_weights();

Variant vectorized_forward();

Variant scatter_rows_backward_weights();
#endif

}  // namespace warpscope::ops::embedding
