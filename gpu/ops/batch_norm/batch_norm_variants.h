#pragma once
// The factories behind batch_norm_table.cpp. Each is defined in a file named for its variant: batch_norm_<variant>.cpp
// or .cu, or cuda_batch_norm_<variant>.cpp; pooled_backward() and recomputed_backward() in ones of their own.

#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {

Variant reference_forward();
Variant reference_infer();
Variant reference_backward();
Variant reference_track();

Variant loops_forward();
Variant loops_infer();
Variant loops_backward();
Variant loops_track();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant naive_infer();
Variant naive_backward();
Variant naive_track();

Variant welford_forward();

Variant vectorized_infer();

Variant warp_shuffle_backward();

Variant pooled_forward();
Variant pooled_infer();
Variant pooled_backward();

Variant recomputed_forward();
Variant recomputed_infer();
Variant recomputed_backward();

#if WARPSCOPE_HAVE_CUDNN
Variant cudnn_forward();
Variant cudnn_infer();
Variant cudnn_backward();
#endif
#endif

}  // namespace warpscope::ops::batch_norm
