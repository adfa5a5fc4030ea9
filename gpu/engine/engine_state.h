#pragma once
// Everything that training goes on from, in host memory.

#include <cstdint>
#include <utility>
#include <vector>

#include "gpu/ops/optimizer/update_rule.h"
#include "gpu/ops/step/step.h"

namespace warpscope::training {

struct EngineState {
  std::vector<float> parameters;  ///< models::ParameterLayout
  ops::UpdateRule rule{};
  std::vector<std::vector<float>> states;  ///< ops::states_of(rule) of the same layout
  ops::step::StepControl control;          ///< the device's own part is what counts
  std::uint64_t steps = 0;
  std::uint64_t epochs_done = 0;
  std::uint32_t position = 0;  ///< in the running epoch's order
};

/// If `state` has scaled losses and `fresh` has not, or the reverse, it gets the loss scale of `fresh`. Its count of
/// updates stays.
inline void fit_loss_scale(EngineState& state, const EngineState& fresh) {
  if ((state.control.growth_interval > 0) == (fresh.control.growth_interval > 0)) return;
  const std::uint32_t updates = std::exchange(state.control, fresh.control).updates;
  state.control.updates = updates;
}

}  // namespace warpscope::training
