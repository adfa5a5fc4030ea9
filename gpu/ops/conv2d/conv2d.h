#pragma once
// What the files of conv2d share; conv2d.cpp has the mathematics.

#include <string>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

/// Variant::refuses of the variants that take only plain convolutions.
std::string refuses_unless_plain(const OpShape& shape);

}  // namespace warpscope::ops::conv2d
