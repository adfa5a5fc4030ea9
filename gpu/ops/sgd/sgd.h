#pragma once
// sgd.update: p[i] -= learning_rate * (g[i] / loss_scale) over the whole contiguous parameter buffer, or nothing at all if
// control.overflow is set. Learning rate, loss scale (a power of two, so that dividing is exact) and overflow are read from
// the device's StepControl. OpShape: count = number of parameters.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::sgd {

enum UpdateOperands : int { kUpdateGradients, kUpdateControl, kUpdateParameters };

std::vector<Variant> variants();

}  // namespace warpscope::ops::sgd
