#pragma once
// A step looked at node by node: where a number first stopped being one, and what comes out otherwise a second time.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/network_state.h"
#include "gpu/messages/determinism.h"
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

using MakePlan = std::function<std::unique_ptr<plan::Plan>(const plan::Bindings&)>;

/// Runs the next step twice, side by side, from copies of the weights, and tells what differs in what each op wrote,
/// bit by bit: two plans of the same selection, node by node. `network` and `control` are those of the next step and
/// stay as they are; `make` builds its plan. Waits. Throws core::OutOfMemory that says what is needed if the two plans
/// do not fit beside the one in use.
std::vector<TensorDifference> run_twice(const NetworkBuffers& network, const core::Buffer& control,
                                        const std::shared_ptr<core::Device>& device, core::Stream& stream,
                                        plan::Bindings bindings, const MakePlan& make);

}  // namespace warpscope::training
