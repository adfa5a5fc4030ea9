#pragma once
// Shapes to check an op on.

#include <cstdint>
#include <vector>

#include "gpu/ops/op.h"

namespace warpscope::verify {

/// Chosen shapes (one element, odd sizes, kernels larger than the image, 1 to 256 channels, the long sums of a whole batch
/// for reductions).
std::vector<ops::OpShape> shapes_of(ops::Op op);

/// `count` random shapes, the same for the same seed: odd sizes, 1 to 513 channels or features, batches from 1, kernels of
/// 1, 3, 5 and 7, none that costs more than `most_flops`.
std::vector<ops::OpShape> random_shapes_of(ops::Op op, int count, std::uint64_t seed, double most_flops);

/// Convolutions large enough that a GPU's variants choose each of their tiles, with a channel count that takes the scalar
/// path and one that takes the vector path; empty for other ops. Slow on one CPU core.
std::vector<ops::OpShape> large_shapes_of(ops::Op op);

}  // namespace warpscope::verify
