#include "gpu/training/worker/training_keeper.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/device_lost.h"
#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/file.h"
#include "gpu/messages/running.h"
#include "gpu/training/engine_change.h"
#include "gpu/training/worker/course.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

constexpr std::uint64_t kLeastUnsavedSteps = 10;
constexpr auto kRememberInterval = std::chrono::milliseconds(1000);

}  // namespace

void TrainingKeeper::roll_back() {
  training_.collector.drain();
  const std::uint64_t before =
      training_.steering.diverged() ? training_.view.divergence.step - 1 : training_.engine->steps();
  if (!training_.engine->rollback().remembers(before)) {
    throw core::BadInput("there are no weights from before to go back to");
  }
  keep(left_now());
  training_.moments.keep_before_change();
  OptimizerSettings slower = training_.settings().optimizer;
  const Divergence& divergence = training_.view.divergence;
  slower.learning_rate = training_.steering.diverged() && divergence.can_roll_back ? divergence.back_rate
                                                                                   : rate_to_go_back(before);
  training_.engine->recall(before);
  training_.evaluating.forget();
  last_remembered_ = Clock::now();  // there is a copy of these weights
  training_.engine->set_optimizer(slower);
  const std::string slowed = fmt::format("learning rate: {:g} -> {:g}",
                                         training_.settings().optimizer.learning_rate, slower.learning_rate);
  training_.mark("back to earlier weights; " + slowed, true);
  const TrainingSettings was = training_.settings();
  training_.publishing.edit_settings([&](TrainingSettings& s) { s.optimizer = slower; });
  training_.steering.follow(was, training_.settings());
  training_.view.divergence.can_roll_back = false;
  training_.moments.break_off();
  training_.keeper->begin_training();
  tree_.begin(training_.view.trainings, training_.view.training, training_.engine->steps());
  tree_.note(training_.view.trainings, training_.engine->steps(), slowed, training_.command);
  begin_training();
  list_left();
  training_.keeper->note_settings();
  if (training_.view.state == TrainerState::paused) training_.stepping.resume();
  training_.reporter.publish(true);
}

/// As Rollback::remember(), with what is known of that step.
void TrainingKeeper::remember() {
  if (training_.around.aside) return;  // it goes nowhere
  Progress now = training_.view;
  now.step = training_.engine->steps();
  now.epoch = training_.engine->epoch();
  const auto do_without = [&](const core::Error& error) {
    training_.engine->forget();
    training_.publishing.tell(fmt::format("there will be no weights to go back to: {}", error.what()));
  };
  try {
    copies_.note(training_.engine->remember(), training_.steering, now, training_.view.settings);
  } catch (const core::OutOfMemory& error) {
    do_without(error);
  } catch (const core::BadInput& error) {  // another rank has no memory for them
    do_without(error);
  }
}

void TrainingKeeper::before_point(std::uint64_t step) {
  copies_.before_point(step, training_.publishing.tally());
}

void TrainingKeeper::list_left() {
  training_.view.left = left_.list(tree_, training_.view.training);
}

void TrainingKeeper::begin_training() {
  training_.view.training = training_.view.trainings++;
}

/// The training between two steps, for return_to(). Throws core::OutOfMemory.
LeftState TrainingKeeper::left_now() {
  training_.collector.drain();
  try {
    LeftState left{.number = training_.view.training,
                   .generation = training_.view.generation,
                   .settings = training_.view.settings,
                   .first_weights = training_.engine->network().first_weights(),
                   .engine = training_.engine->state(),
                   .steering = training_.steering,
                   .progress = training_.view,
                   .tally = training_.publishing.tally(),
                   .divergence = training_.view.divergence};
    left.progress.step = left.engine.steps;
    left.progress.epoch = training_.engine->epoch();
    left.steering.take_pending();
    return left;
  } catch (const std::bad_alloc&) {
    throw core::OutOfMemory("the host has too little memory to keep the training that would be left");
  }
}

void TrainingKeeper::keep(LeftState left) {
  left_.keep(std::move(left));
  list_left();
}

/// The rate of the last step behind the weights that RollBack brings back; half of it if that is the one that failed.
float TrainingKeeper::rate_to_go_back(std::uint64_t steps) const {
  const float failed = training_.settings().optimizer.learning_rate;
  const float worked = training_.engine->rollback().rate(steps).value_or(failed);
  return worked < failed ? worked : failed / 2;
}

/// Divergence leaves the training behind as it was at the last copy from before it.
void TrainingKeeper::keep_what_was_before_divergence() {
  Divergence& divergence = training_.view.divergence;
  const std::uint64_t before = divergence.step - 1;
  std::optional<EngineState> state = training_.engine->rollback().state(before);
  if (!state) return;
  divergence.can_roll_back = true;
  divergence.back_step = state->steps;
  divergence.back_rate = rate_to_go_back(before);
  LeftState left{.number = training_.view.training,
                 .generation = training_.view.generation,
                 .settings = training_.view.settings,
                 .first_weights = training_.engine->network().first_weights(),
                 .engine = std::move(*state),
                 .steering = {},
                 .progress = {},
                 .tally = training_.publishing.tally(),
                 .divergence = {}};
  copies_.recall(training_.engine->rollback().place(before), left);
  tree_.begin_behind(training_.view.trainings, training_.view.training, left.engine.steps);
  left_.keep(std::move(left));
  begin_training();
  list_left();
}

void TrainingKeeper::take_on(const LeftState& target) {
  if (target.selection) {
    use_selection(*target.selection,
                  training_.variant_history.at(target.settings, target.generation, target.engine.steps));
  }
  const int batch = target.settings->batch;
  if (training_.engine->network().bare_model() != target.settings->model) {
    if (batch < training_.engine->options().batch)
      training_.engine->set_batch(batch);  // it may not fit beside the present one
    training_.engine->set_network(target.settings->model);
  }
  const EngineSettings now = training_.engine->options();
  change(*training_.engine, now, *target.settings);
  try {
    training_.engine->network().set_first_weights(target.first_weights);
    training_.moments.forget_first_weights();
    EngineState state = target.engine;
    const bool scales = training_.view.selection.precision == core::Precision::fp16;
    if ((state.control.growth_interval > 0) != scales) fit_loss_scale(state, training_.engine->state());
    training_.engine->restore(state);
  } catch (const std::bad_alloc&) {
    throw core::OutOfMemory("the host has too little memory to bring the training back");
  }
}

void TrainingKeeper::use_selection(const plan::Selection& selection, const ops::Variants& then) {
  ops::Variants variants =
      with_versions_of(then, training_.view.variants, selection, training_.device->kind());
  if (selection == training_.view.selection && variants == training_.view.variants) return;
  training_.engine->set_selection(selection, variants);
  training_.view.variants = std::move(variants);
  training_.changes.note_selection(selection);
}

void TrainingKeeper::return_to(std::uint64_t number) {
  if (number == training_.view.training) return;
  const LeftState* const found = left_.find(number);
  if (found == nullptr) {
    throw core::BadInput(fmt::format("that training is not kept any more: the last {} that were left are",
                                     LeftTrainings::kMost));
  }
  LeftState now = left_now();
  if (found->selection) now.selection = training_.view.selection;
  const bool other_network = found->settings->model != training_.settings().model;
  try {
    take_on(*found);
  } catch (const core::Error&) {
    take_on(now);
    throw;
  }
  LeftState target = left_.take(number);
  keep(std::move(now));
  const std::string told =
      fmt::format("back at step {}, where the training was left", files::grouped(target.engine.steps));
  go_on_with(std::move(target), other_network, told);
}

/// What the worker and those who look on know of the training, once the engine has it.
void TrainingKeeper::go_on_with(LeftState target, bool other_network, const std::string& told,
                                std::size_t changes) {
  const bool other_batch = target.settings->batch != training_.settings().batch;
  training_.publishing.edit_settings([this, &then = *target.settings](TrainingSettings& s) {
    const TrainingSettings now = std::exchange(s, then);
    s.precision = now.precision;  // those that run the steps are a choice of their own
    s.select = now.select;
    s.run_dir = now.run_dir;  // it may be recorded elsewhere now, or not at all
    if (training_.around.aside) s.probe = false;
  });
  if (other_network) {
    training_.changes.follow_network();
  } else if (other_batch || target.selection) {
    training_.changes.note_choice();
  }
  training_.steering = std::move(target.steering);
  training_.speeds.clear();
  training_.stepping.forget_single_steps();
  training_.keeper->begin_training();
  static_cast<Progress&>(training_.view) = target.progress;
  training_.publishing.tally() = std::move(target.tally);
  const std::uint64_t id = training_.view.divergence.id;
  training_.view.divergence = training_.steering.diverged() ? target.divergence : Divergence{};
  training_.view.divergence.id = training_.steering.diverged() ? id + 1 : id;
  training_.view.divergence.can_roll_back = false;
  training_.view.training = target.number;
  list_left();
  ++training_.view.generation;
  training_.reporter.note_sizes();
  plan_steps(training_);
  training_.changes.show_anew();
  training_.publishing.emit(Return{training_.view.generation, target.generation, target.engine.steps});
  training_.publishing.send();  // windows forget by it what they are told again
  if (target.generation + 1 != training_.view.generation) training_.keeper->tell_views_again();
  if (training_.history)
    training_.history->go_on(target.generation, training_.view.generation, target.engine.steps);
  training_.moments.begin(target, changes);
  remember();
  training_.mark(told);
  if (training_.view.state == TrainerState::finished) training_.keeper->go_on();
  if (training_.view.state == TrainerState::finished || training_.steering.diverged())
    training_.view.state = TrainerState::paused;
  training_.changes.clip_by_default();
  if (training_.keeper->writes_checkpoints()) {
    if (other_network) training_.keeper->follow(training_.settings().model);
    if (!training_.steering.diverged()) training_.stepping.write_checkpoint(false);
  }
  training_.keeper->note_settings();
  training_.reporter.publish(true);
}

void TrainingKeeper::leave() {
  const bool writes = training_.keeper->recorder() != nullptr || !training_.settings().save_file.empty();
  if (writes && training_.view.state != TrainerState::finished) {
    training_.collector.drain();
    training_.collector.handle_divergence();
    if (training_.keeper->records_by_itself())
      training_.reporter.attempt([this] { go_back_to_what_is_worth_it(); });
    training_.stepping.finish();
    if (training_.view.state != TrainerState::finished)
      training_.stepping.finish();  // it has just diverged, and nobody looks any more
  }
  try {
    if (training_.keeper->keeps_unsaved()) keep_unsaved();
  } catch (const core::DeviceLost&) {
    throw;  // another process goes on from an earlier state, and keeps that
  } catch (const std::exception& error) {
    return training_.reporter.fail(
        fmt::format("the training could not be kept: {}", core::sentence_of(error)), false);
  }
  if (training_.keeper->records_by_itself() && training_.view.step > 0 && training_.view.kept_in.empty())
    training_.view.kept_in = training_.view.run_dir;
  training_.view.may_close = true;
  training_.reporter.publish(true);
}

/// For a training that diverged, or was reset a moment ago, what was before that is worth more. False if nothing is
/// worth keeping.
bool TrainingKeeper::go_back_to_what_is_worth_it() {
  const auto worth_it = [this](const Steering& steering, const Progress& progress) {
    return !steering.diverged() && progress.step >= kLeastUnsavedSteps &&
           progress.seconds >= training_.around.unsaved_seconds;
  };
  if (!worth_it(training_.steering, training_.view)) {
    const auto& left = left_.all();
    const auto better = std::find_if(left.rbegin(), left.rend(), [&](const LeftState& each) {
      return worth_it(each.steering, each.progress);
    });
    if (better == left.rend()) return false;
    return_to(better->number);
  }
  return true;
}

void TrainingKeeper::keep_unsaved() {
  training_.collector.drain();
  if (!go_back_to_what_is_worth_it()) return;
  training_.reporter.publish(true);
  training_.keeper->keep_unsaved(training_.steering);
}

void TrainingKeeper::remember_if_due() {
  if (training_.steering.diverged() || training_.stepping.searches_rate() ||
      training_.view.state != TrainerState::running)
    return;
  if (Clock::now() - last_remembered_ < kRememberInterval) return;
  if (!training_.engine->rollback().copy_due()) return;
  last_remembered_ = Clock::now();
  remember();
}

}  // namespace warpscope::training
