#pragma once
// The gradient of a tensor that two layers read, in the call of conv2d.backward_input that gives one part of it: the
// other part, `addend` (N,H,W,C), is there by then and is added before the mask of the ReLU.
//
//   dx = (conv2d^T(dy, w) + addend) where x > 0

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d::fused {

/// The chain of conv2d.backward_input (chain.h), with add.forward in it:
/// maxpool2d.backward? conv2d.backward_input upsample2d.backward? add.forward? relu.backward?
std::vector<Link> summed_backward_input_chain();

}  // namespace warpscope::ops::conv2d::fused
