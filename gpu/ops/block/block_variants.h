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

Variant parts(Op op, core::DeviceKind device);

}  // namespace warpscope::ops::block
