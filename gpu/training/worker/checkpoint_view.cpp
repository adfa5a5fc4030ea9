#include "gpu/training/worker/checkpoint_view.h"

#include <algorithm>

#include "gpu/core/error.h"
#include "gpu/plan/selection.h"
#include "gpu/runs/head_snapshot.h"
#include "gpu/runs/references.h"
#include "gpu/training/worker/course.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {

void CheckpointView::fit_to_device() {
  const plan::Machine machine = machine_of(training_.view);
  const auto able = plan::training_precisions(training_.device->info());
  training_.publishing.edit_settings([&](TrainingSettings& s) {
    if (s.precision && std::ranges::find(able, *s.precision) == able.end()) s.precision.reset();
    TrainingSettings completed = s;
    complete(completed, training_.device->info());
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
void CheckpointView::look_at(std::uint64_t step) {
  if (!training_.views())
    throw core::BadInput("a training is seen as it is: only runs are looked at by checkpoints");
  training_.collector.drain();
  const std::uint64_t step_before = training_.view.step, generation_before = training_.view.generation;
  training_.keeper->look_at(step, training_.steering);
  has_gradients_ = false;
  make_gradients();
  training_.showing.show_anew();
  if (training_.view.step < step_before || training_.view.generation != generation_before)
    training_.watching->follow_network();
  training_.watching->forget_costs();
  evaluate_checkpoint();
  training_.reporter.publish(true);
}

void CheckpointView::observe(const ObservationRequest& request) {
  training_.watching->ask(request);
  wants_gradients_ = training_.views() && (request.distributions || request.inspected_image);
  make_gradients();
}

/// Those of the step behind the checkpoint, which is made and taken back.
void CheckpointView::make_gradients() {
  if (!wants_gradients_ || has_gradients_) return;
  has_gradients_ = true;
  const bool evaluates = training_.engine->evaluator().running();
  const EngineState before = training_.engine->state();
  training_.engine->step(false);
  training_.engine->synchronize();
  training_.engine->collect_steps(true);
  training_.engine->restore(before);
  training_.engine->keep_gradients();
  if (evaluates) evaluate_checkpoint();
}

/// The test set is for the end, where other images steer.
void CheckpointView::evaluate_checkpoint() {
  if (!training_.view.classifies) return;
  const bool ended = runs::state_of(runs::read_head(training_.around.viewed_run)) == TrainerState::finished;
  training_.evaluating.start(ended ? Split::test : steering_split(training_));
}

}  // namespace warpscope::training
