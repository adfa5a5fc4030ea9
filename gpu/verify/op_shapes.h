#pragma once
// Shapes to check an op on.

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::verify {

/// Chosen shapes (OpTests::shapes).
std::vector<ops::OpShape> shapes_of(ops::Op op);

/// `count` random shapes, the same for the same seed: odd sizes, 1 to 513 channels or features, batches from
/// 1, kernels of 1, 3, 5 and 7, none that costs more than `most_flops`.
std::vector<ops::OpShape> random_shapes_of(ops::Op op, int count, std::uint64_t seed, double most_flops);

/// Shapes large enough that a GPU's variants choose each of their tiles; empty for most ops. Slow on one CPU
/// core.
std::vector<ops::OpShape> large_shapes_of(ops::Op op);

/// `shape` for a call that covers `covered`: as it is, or with twice the height and width, where the operands
/// of the chain fit each other only then; nothing where they never do. A pooling whose window is that of the call has
/// the window of `shape`, or 1x3 for lines and 2x2 for images where it has none.
std::optional<ops::OpShape> fitted(const ops::Variant& variant, ops::OpShape shape,
                                   const ops::OpSet& covered);

/// The calls to check `variant` on: `shapes` and, of a variant with a chain, its op's OpTests::chain_shapes,
/// with every set of ops that it can cover; the `large` ones with the smallest and the largest set. Each
/// once.
std::vector<ops::OpShape> calls_of(const ops::Variant& variant, std::vector<ops::OpShape> shapes,
                                   const std::vector<ops::OpShape>& large);

}  // namespace warpscope::verify
