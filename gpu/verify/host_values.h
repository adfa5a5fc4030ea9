#pragma once
// The distance of values on the host.

#include <span>

#include "gpu/ops/host_values.h"

namespace warpscope::verify {

using ops::Bytes;
using ops::decode;
using ops::encode;
using ops::Operands;

/// ||out - expected|| / max(||expected||, least_norm) in the Euclidean norm: 0 if both are zero or empty,
/// infinity if any value of `out` is NaN or infinite or if the divisor is zero and `out` is not.
double relative_error(std::span<const double> out, std::span<const double> expected, double least_norm = 0);

}  // namespace warpscope::verify
