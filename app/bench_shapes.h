#pragma once
// Shapes that a person types.

#include <string>
#include <vector>

#include "gpu/profiling/bench.h"

namespace warpscope::app {

/// The cases of "64x16x16x256:128x3x3" (the ops of a convolution), "64x8192:128" (those of a linear layer) or
/// "64x16x16x256" (the ops that work on images): of all ops whose contracts describe shapes so, or of those
/// in `ops` if it is not empty.
/// Throws core::BadInput.
std::vector<profiling::BenchCase> cases_of_shape(const std::string& text, const std::vector<ops::Op>& ops);

}  // namespace warpscope::app
