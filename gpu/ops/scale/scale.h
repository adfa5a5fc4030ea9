#pragma once
// What the files of scale share; scale.cpp has the mathematics.

#include <string>

#include "gpu/ops/variant.h"

namespace warpscope::ops::scale {

/// Variant::refuses of all variants: the factor is 0 or not finite.
std::string refuses(const OpShape& shape);

}  // namespace warpscope::ops::scale
