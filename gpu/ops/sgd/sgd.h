#pragma once
// sgd.update: p[i] -= learning_rate * g[i] over the whole contiguous parameter buffer; the learning rate is read from the
// device's StepControl. OpShape: count = number of parameters.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::sgd {

enum UpdateOperands : int { kUpdateGradients, kUpdateControl, kUpdateParameters };

std::vector<Variant> variants();

}  // namespace warpscope::ops::sgd
