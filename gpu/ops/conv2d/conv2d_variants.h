#pragma once
// The factories behind conv2d_table.cpp. Each is defined in the file named for its variant:
// conv2d_<variant>.cpp or .cu.

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

Variant onednn_forward();
Variant onednn_backward_input();
Variant onednn_backward_weights();
Variant onednn_backward_bias();

#if WARPSCOPE_HAVE_CUDA
Variant naive_forward();
Variant naive_backward_input();
Variant naive_backward_weights();
Variant naive_backward_bias();

Variant implicit_gemm_forward();
Variant implicit_gemm_backward_input();
Variant implicit_gemm_backward_weights();
#endif

}  // namespace warpscope::ops::conv2d
