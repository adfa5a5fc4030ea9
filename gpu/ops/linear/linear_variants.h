#pragma once
// The factories behind linear_table.cpp. Each is defined in the file named for its variant:
// linear_<variant>.cpp or .cu; those of the library, of `split_k` and of `hopper` in cuda_linear_<variant>.cpp.

#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {

Variant reference_forward();
Variant reference_backward_input();
Variant reference_backward_weights();
Variant reference_backward_bias();

Variant onednn_forward();
Variant onednn_backward_input();
Variant onednn_backward_weights();
Variant onednn_backward_bias();

Variant loops_forward();
Variant loops_backward_input();
Variant loops_backward_weights();
Variant loops_backward_bias();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant naive_backward_input();
Variant naive_backward_weights();
Variant naive_backward_bias();

Variant atomic_backward_input();
Variant atomic_backward_weights();
Variant atomic_backward_bias();

Variant per_sample_backward_weights();

Variant warp_shuffle_backward_bias();

Variant tiled_forward();
Variant tiled_backward_input();
Variant tiled_backward_weights();

Variant split_k_forward();
Variant split_k_fused_forward();
Variant split_k_backward_input();
Variant split_k_backward_weights();
Variant split_k_fused_backward_weights();

#if WARPSCOPE_HAVE_HOPPER
Variant hopper_forward();
Variant hopper_backward_weights();
#endif

#if WARPSCOPE_HAVE_CUBLAS
Variant cublas_forward();
Variant cublas_fused_forward();
Variant cublas_backward_input();
Variant cublas_backward_weights();
#endif
#endif

}  // namespace warpscope::ops::linear
