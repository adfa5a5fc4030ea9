#pragma once
// ReLU. forward: y = max(x, 0), NaN stays NaN. backward: dx = dy where y > 0, else 0 (as PyTorch: the gradient at 0 is
// 0). Both may run in place. OpShape: batch, height, width, in_channels.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::relu {

enum ForwardOperands : int { kForwardInput, kForwardOutput };
enum BackwardOperands : int { kBackwardOutput, kBackwardOutputGradient, kBackwardInputGradient };

std::vector<Variant> variants();

}  // namespace warpscope::ops::relu
