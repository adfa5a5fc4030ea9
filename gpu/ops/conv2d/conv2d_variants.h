#pragma once
// The factories behind conv2d_table.cpp. Each is defined in the file named for its variant:
// conv2d_<variant>.cpp or .cu, those of chains in fused/.

#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

Variant reference_forward();
Variant reference_backward_input();
Variant reference_backward_weights();
Variant reference_backward_bias();

Variant loops_forward();
Variant loops_backward_input();
Variant loops_backward_weights();
Variant loops_backward_bias();

// Of one-hot characters (fused/rows.h).
Variant gather_rows_loops_forward();
Variant scatter_rows_loops_backward_weights();

Variant onednn_forward();
Variant onednn_fused_forward();
Variant onednn_backward_input();
Variant onednn_backward_weights();
Variant onednn_backward_bias();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant tiled_forward();

Variant atomic_backward_input();
Variant atomic_backward_weights();
Variant atomic_backward_bias();

Variant gather_backward_input();
Variant per_weight_backward_weights();
Variant tree_reduction_backward_weights();
Variant warp_shuffle_backward_bias();

Variant implicit_gemm_forward();
Variant implicit_gemm_backward_input();
Variant implicit_gemm_backward_weights();

Variant mma_forward();
Variant mma_fused_forward();
Variant mma_backward_input();
Variant mma_backward_weights();

// Of one-hot characters (fused/rows.h).
Variant gather_rows_forward();
Variant shared_rows_forward();
Variant shared_rows_normed_forward();
Variant scatter_rows_backward_weights();
Variant mma_rows_backward_weights();

// With what lies around the convolution (fused/chain.h).
Variant fused_forward();
Variant fused_backward_input();
Variant fused_backward_weights();

Variant narrow_forward();
Variant narrow_backward_input();
Variant narrow_backward_weights();

#if WARPSCOPE_HAVE_HOPPER
Variant hopper_forward();
Variant hopper_pooled_forward();
Variant hopper_normed_forward();
Variant hopper_backward_input();
Variant hopper_unpooled_backward_input();
Variant hopper_backward_weights();
Variant hopper_rows_backward_weights();
#endif

#if WARPSCOPE_HAVE_CUDNN
Variant cudnn_forward();
Variant cudnn_backward_input();
Variant cudnn_backward_weights();
#endif
#endif

}  // namespace warpscope::ops::conv2d
