#pragma once
// labels.gather: output[n] = labels[order[(control.position + n) mod count]] for n < batch; the labels of the
// images that batch.gather picks. OpShape: batch, count = images of the data set.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::labels {

OpContract gather_contract();

const OpTests& gather_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::labels
