#pragma once
// bias.forward: y[n,h,w,c] = x[n,h,w,c] + b[c]. May run in place. The gradient of b is conv2d.backward_bias;
// that of x is dy itself and needs no op. OpShape: batch, height, width, in_channels.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::bias {

OpContract forward_contract();

const OpTests& forward_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::bias
