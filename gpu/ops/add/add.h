#pragma once
// add.forward: y[n,h,w,c] = a[n,h,w,c] + b[n,h,w,c], where two paths meet: gradients of a tensor that two layers
// read. May run in place of a. The gradient of either input is dy itself and needs no op. OpShape: batch, height,
// width, in_channels.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::add {

OpContract forward_contract();

const OpTests& forward_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::add
