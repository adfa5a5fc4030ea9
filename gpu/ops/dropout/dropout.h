#pragma once
// What the files of dropout share; dropout.cpp has the mathematics.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::dropout {

/// Variant::refuses of all variants: the rate is not in [0, 1).
std::string refuses(const OpShape& shape);

}  // namespace warpscope::ops::dropout
