#pragma once
// The weights of a training at one moment, for work beside it.

#include <cstdint>
#include <vector>

#include "gpu/plan/selection.h"

namespace warpscope::training {

/// The master weights after a step.
struct Weights {
  std::uint64_t number = 0;  ///< CopyWeights::number
  std::uint64_t step = 0;
  std::uint64_t generation = 0;   ///< Snapshot::generation
  plan::Selection selection;      ///< that the training ran with
  std::vector<float> parameters;  ///< in models::ParameterLayout
};

}  // namespace warpscope::training
