#pragma once
// The gradient of the weights of a convolution over one-hot characters (rows.h) on Hopper, hopper_rows.cu. Precisions
// fp16 and bf16.

#include <cstddef>
#include <string>

#include "gpu/core/types.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d::fused::hopper::rows_backward_weights {

/// Why the shape is not taken, or "".
std::string refuses(const OpShape& shape);
std::size_t workspace(const OpShape& shape, core::Precision precision);
void launch(const OpCall& call);

}  // namespace warpscope::ops::conv2d::fused::hopper::rows_backward_weights
