#pragma once
// Everything that training goes on from, in host memory.

#include <cstdint>
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

}  // namespace warpscope::training
