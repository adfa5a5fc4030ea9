#pragma once
// The next step twice, side by side, from copies of the weights: two plans of the same selection, node by node.

#include <functional>
#include <memory>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/network_state.h"
#include "gpu/messages/determinism.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

using MakePlan = std::function<std::unique_ptr<plan::Plan>(const plan::Bindings&)>;

/// What differs in what each op wrote, bit by bit. `network` and `control` are those of the next step and stay as they
/// are; `make` builds its plan. Waits. Throws core::OutOfMemory that says what is needed if the two plans do not fit
/// beside the one in use.
std::vector<TensorDifference> run_twice(const NetworkBuffers& network, const core::Buffer& control,
                                        const std::shared_ptr<core::Device>& device, core::Stream& stream,
                                        plan::Bindings bindings, const MakePlan& make);

}  // namespace warpscope::training
