#pragma once
// Shapes to test an op on.

#include <vector>

#include "gpu/ops/op.h"

namespace warpscope::tests {

/// Chosen shapes (one element, odd sizes, kernels larger than the image, 1 to 256 channels, the long sums of a whole batch)
/// and, for convolutions, random ones, the same in every run.
std::vector<ops::OpShape> shapes_of(ops::Op op);

/// Convolutions large enough that a GPU's variants choose each of their tiles, with a channel count that takes the scalar
/// path and one that takes the vector path; empty for other ops. Slow on one CPU core.
std::vector<ops::OpShape> large_shapes_of(ops::Op op);

}  // namespace warpscope::tests
