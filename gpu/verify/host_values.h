#pragma once
// Operands on the host as bytes, and their values as doubles, for every element type. IEEE binary16 and bfloat16 are
// rounded to nearest, ties to even.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/core/types.h"

namespace warpscope::verify {

using Bytes = std::vector<std::byte>;

/// The bytes of `values` as elements of `type`: f64, f32, f16, bf16 or u8.
Bytes encode(std::span<const double> values, core::ElementType type);

/// The values of elements of `type`: f64, f32, f16, bf16 or u8. 16-bit subnormals, infinities and NaN included.
std::vector<double> decode(std::span<const std::byte> bytes, core::ElementType type);

/// ||out - expected|| / max(||expected||, least_norm) in the Euclidean norm: 0 if both are zero or empty, infinity if any
/// value of `out` is NaN or infinite or if the divisor is zero and `out` is not.
double relative_error(std::span<const double> out, std::span<const double> expected, double least_norm = 0);

}  // namespace warpscope::verify
