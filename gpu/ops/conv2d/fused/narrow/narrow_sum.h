#pragma once
// The second kernel of the backward_weights of narrow.h: partial results of `splits` blocks, added in a fixed
// order.

#include <cstdint>
#include <string_view>

#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused::narrow {

/// Parts that the tiles are dealt out to, one tile after another; the same on every device, so that workspace
/// and launch agree and results do not depend on it. Two blocks for each multiprocessor of an H100.
inline constexpr int kSplits = 264;

inline int splits_of(int tiles) {
  return tiles < kSplits ? tiles : kSplits;
}

/// Element i of dw, and after these of db, is the sum of element i of all partial results, which lie one
/// after another.
struct SumProblem {
  int weights;  ///< elements of dw
  int bias;     ///< and of db
  int splits;
};

/// Sums the partial results in the workspace. `part` of the work, for errors.
void launch_sum(const ChainCall& call, std::string_view part, const SumProblem& problem);

struct SumTensors {
  const float* partial;
  float* weights_gradient;
  float* bias_gradient;  ///< none if nullptr
};

/// The same of any variant.
void launch_sum(const Variant& variant, core::Stream& stream, std::string_view part,
                const SumProblem& problem, const SumTensors& tensors);

}  // namespace warpscope::ops::conv2d::fused::narrow
