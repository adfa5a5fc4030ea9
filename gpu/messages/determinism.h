#pragma once
// Determinism: the same training step run twice side by side, and where their bits differ.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/ops/op.h"

namespace warpscope::training {

/// A tensor that one of the step's ops wrote.
struct TensorDifference {
  ops::Op op{};
  std::string layer;
  std::string variant;
  std::string tensor;  ///< "conv2.weight.gradient"
  std::int64_t elements = 0;
  std::int64_t different = 0;   ///< elements whose bits differ
  double largest = 0;           ///< largest |a - b|
  double largest_relative = 0;  ///< largest |a - b| over the largest |a| of the tensor
};

/// Both runs start from the same weights and images; what an op reads is what its own run made, so that a
/// difference is followed to the weights.
struct DeterminismReport {
  std::uint64_t id = 0;  ///< grows with each check; 0: none was made
  std::uint64_t step = 0;
  std::string selection;
  std::vector<TensorDifference> tensors;  ///< in the order of the launches
};

}  // namespace warpscope::training
