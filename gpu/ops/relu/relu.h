#pragma once
// ReLU. forward: y = max(x, 0), NaN stays NaN. backward: dx = dy where y > 0, else 0 (as PyTorch: the
// gradient at 0 is 0). Both may run in place. OpShape: batch, height, width, in_channels.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::relu {

OpContract forward_contract();
OpContract backward_contract();

const OpTests& forward_tests();
const OpTests& backward_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::relu
