#include "gpu/training/engine_checkpoint.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace warpscope::training {

Checkpoint checkpoint_without_state(const TrainingSettings& settings, const Steering& steering,
                                    const Progress& progress) {
  Checkpoint checkpoint;
  checkpoint.model = settings.model.name;
  checkpoint.epochs = progress.epoch;
  checkpoint.order.seed = settings.seed;
  const OptimizerSettings& optimizer = settings.optimizer;
  checkpoint.order.batch = static_cast<std::uint32_t>(
      optimizer.per_sample ? settings.batch : settings.batch * optimizer.accumulate);
  checkpoint.order.shuffle = settings.shuffle;
  checkpoint.training = steering.written();
  checkpoint.training["seconds"] = progress.seconds;
  checkpoint.training["skipped_steps"] = progress.skipped_steps;
  checkpoint.training["test_mirrored"] = settings.test_mirrored;
  checkpoint.training["test_shift"] = settings.test_shift;
  return checkpoint;
}

void take_state(Checkpoint& checkpoint, EngineState state) {
  const ops::step::StepControl& control = state.control;
  checkpoint.step = state.steps;
  checkpoint.weights = std::move(state.parameters);
  checkpoint.rule = state.rule;
  checkpoint.optimizer.clear();
  const std::vector<std::string> names = state_names(state.rule);
  for (std::size_t i = 0; i < state.states.size(); ++i) {
    checkpoint.optimizer.push_back({names[i], std::move(state.states[i])});
  }
  checkpoint.control = {control.loss_scale, control.good_steps, control.growth_interval, control.updates};
  checkpoint.order.epoch = state.epochs_done;
  checkpoint.order.position = state.position;
}

EngineState engine_state(Checkpoint checkpoint) {
  EngineState state;
  state.parameters = std::move(checkpoint.weights);
  state.rule = checkpoint.rule;
  for (OptimizerState& each : checkpoint.optimizer) state.states.push_back(std::move(each.values));
  state.control.loss_scale = checkpoint.control.loss_scale;
  state.control.good_steps = checkpoint.control.good_steps;
  state.control.growth_interval = checkpoint.control.growth_interval;
  state.control.updates = checkpoint.control.updates;
  state.steps = checkpoint.step;
  state.epochs_done = checkpoint.order.epoch;
  state.position = checkpoint.order.position;
  return state;
}

}  // namespace warpscope::training
