#pragma once
// Where a number first stopped being one.

#include <cstdint>
#include <string>

#include "gpu/core/device.h"
#include "gpu/engine/network_state.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

struct NotFinite {
  std::string tensor;  ///< "conv3", "conv1.weight"; "" if all numbers are finite
  std::string layer;   ///< "" for ops of the whole network
  std::string op;
  std::int64_t count = 0;  ///< elements of the tensor that are not finite
};

/// The first parameter with a number that is not finite. Waits.
NotFinite not_finite_parameter(const NetworkState& network, core::Stream& stream);

/// Runs a step of `plan` up to the update, node by node, until a tensor has a number that is not finite. Waits.
NotFinite not_finite_tensor(plan::Plan& plan, core::Stream& stream);

}  // namespace warpscope::training
