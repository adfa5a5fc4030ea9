#pragma once
// The reference's gradients against central differences of the reference's forward ops, in double. These
// functions are linear, quadratic or linear by pieces (and kept off their corners), so central differences
// are exact but for rounding; those of fourth order (Richardson's extrapolation of two steps) are so for the
// smooth cross-entropy and, where the steps are small beside the deviation, for normalizations too.

#include <cstdint>
#include <span>

#include "gpu/ops/op.h"

namespace warpscope::verify {

/// Steps of this size and of twice that are taken each way; a gradient may be off by the rounding of a
/// difference of sums over the step.
inline constexpr double kDifferenceStep = 1e-3;
inline constexpr double kDifferenceTolerance = 1e-10;

/// The backward ops that have a forward op to be held against.
std::span<const ops::Op> differentiated_ops();

/// ||gradient - difference|| / ||difference|| of the reference of a backward op, on a small shape and random
/// numbers; of its results the worst.
/// Throws core::Error if the op has no reference.
double difference_error(ops::Op backward, std::uint64_t seed);

}  // namespace warpscope::verify
