// The trainer's thread, where a run of another process is looked at: it stands still at one of the run's checkpoints.

#include <algorithm>

#include "gpu/core/error.h"
#include "gpu/plan/selection.h"
#include "gpu/runs/head_snapshot.h"
#include "gpu/runs/references.h"
#include "gpu/training/worker.h"

namespace warpscope::training {

/// What the run had and this device has not is left to this device.
void Trainer::Worker::fit_to_device() {
  const plan::Machine machine = machine_of(view_);
  const auto able = plan::training_precisions(device_->info());
  publishing_.edit_settings([&](TrainingSettings& s) {
    if (s.precision && std::ranges::find(able, *s.precision) == able.end()) s.precision.reset();
    TrainingSettings completed = s;
    complete(completed, device_->info());
    plan::Selection selection{*completed.precision, {}};
    try {
      plan::apply(selection, s.select, machine);
    } catch (const core::BadInput&) {
      s.select.clear();
    }
  });
}

/// What was seen of another checkpoint stays until this one is seen, but for those of later steps: nothing that was
/// counted there came before.
void Trainer::Worker::look_at(std::uint64_t step) {
  if (!views()) throw core::BadInput("a training is seen as it is: only runs are looked at by checkpoints");
  drain();
  const std::uint64_t step_before = view_.step, generation_before = view_.generation;
  keeper_->look_at(step, steering_);
  has_gradients_ = false;
  make_gradients();
  showing_.show_anew();
  if (view_.step < step_before || view_.generation != generation_before) watching_->follow_network();
  watching_->forget_costs();
  evaluate_checkpoint();
  publish(true);
}

/// Those of the step behind the checkpoint, which is made and taken back.
void Trainer::Worker::make_gradients() {
  if (!wants_gradients_ || has_gradients_) return;
  has_gradients_ = true;
  const bool evaluates = engine_->evaluator().running();
  const EngineState before = engine_->state();
  engine_->step(false);
  engine_->synchronize();
  engine_->collect_steps(true);
  engine_->restore(before);
  if (evaluates) evaluate_checkpoint();
}

/// The test set is for the end, where other images steer.
void Trainer::Worker::evaluate_checkpoint() {
  if (!view_.classifies) return;
  const bool ended = runs::state_of(runs::read_head(around_.viewed_run)) == TrainerState::finished;
  start_evaluation(ended ? Split::test : steering_split());
}

}  // namespace warpscope::training
