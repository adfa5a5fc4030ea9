#pragma once
// The factories behind block_table.cpp. Each is defined in the file named for its variant.

#include "gpu/ops/variant.h"

namespace warpscope::ops::block {

Variant reference_forward();
Variant reference_backward_weights();
Variant reference_backward_input();

Variant loops_forward();
Variant loops_backward_weights();
Variant loops_backward_input();

#if WARPSCOPE_HAVE_CUDA
Variant fused_forward();
Variant fused_backward_weights();
Variant fused_backward_input();
#if WARPSCOPE_HAVE_HOPPER
Variant hopper_forward();
Variant hopper_backward_weights();
Variant hopper_backward_input();
#endif
#endif

Variant parts(Op op, core::DeviceKind device);

}  // namespace warpscope::ops::block
