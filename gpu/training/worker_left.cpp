// The trainer's thread: trainings that are left by a reset, another network, divergence or the end of the window, and
// the way back to them.

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/training/engine_change.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

constexpr std::uint64_t kLeastUnsavedSteps = 10;

}  // namespace

/// As Rollback::remember(), with what the worker knows of that step.
void Trainer::Worker::remember() {
  Progress now = view_;
  now.step = engine_->steps();
  now.epoch = engine_->epoch();
  const auto do_without = [&](const core::Error& error) {
    engine_->forget();
    publishing_.tell(fmt::format("there will be no weights to go back to: {}", error.what()));
  };
  try {
    copies_.note(engine_->remember(), steering_, now, view_.settings);
  } catch (const core::OutOfMemory& error) {
    do_without(error);
  } catch (const core::BadInput& error) {  // another rank has no memory for them
    do_without(error);
  }
}

/// The training between two steps, for return_to(). Throws core::OutOfMemory.
LeftState Trainer::Worker::left_now() {
  drain();
  try {
    LeftState left{.number = view_.training,
                   .generation = view_.generation,
                   .settings = view_.settings,
                   .first_weights = engine_->network().first_weights(),
                   .engine = engine_->state(),
                   .steering = steering_,
                   .progress = view_,
                   .tally = publishing_.tally(),
                   .divergence = view_.divergence};
    left.progress.step = left.engine.steps;
    left.progress.epoch = engine_->epoch();
    left.steering.take_pending();
    return left;
  } catch (const std::bad_alloc&) {
    throw core::OutOfMemory("the host has too little memory to keep the training that would be left");
  }
}

void Trainer::Worker::keep(LeftState left) {
  left_.keep(std::move(left));
  list_left();
}

/// The rate of the last step behind the weights that RollBack brings back; half of it if that is the one that failed.
float Trainer::Worker::rate_to_go_back(std::uint64_t steps) const {
  const float failed = settings().optimizer.learning_rate;
  const float worked = engine_->rollback().rate(steps).value_or(failed);
  return worked < failed ? worked : failed / 2;
}

/// Divergence leaves the training behind as it was at the last copy from before it.
void Trainer::Worker::keep_what_was_before_divergence() {
  Divergence& divergence = view_.divergence;
  const std::uint64_t before = divergence.step - 1;
  std::optional<EngineState> state = engine_->rollback().state(before);
  if (!state) return;
  divergence.can_roll_back = true;
  divergence.back_step = state->steps;
  divergence.back_rate = rate_to_go_back(before);
  LeftState left{.number = view_.training,
                 .generation = view_.generation,
                 .settings = view_.settings,
                 .first_weights = engine_->network().first_weights(),
                 .engine = std::move(*state),
                 .steering = {},
                 .progress = {},
                 .tally = publishing_.tally(),
                 .divergence = {}};
  copies_.recall(engine_->rollback().place(before), left);
  tree_.begin_behind(view_.trainings, view_.training, left.engine.steps);
  left_.keep(std::move(left));
  begin_training();
  list_left();
}

/// Settings, network, optimizer, weights, state and place in the data of a training that was left. What cannot be
/// throws, with settings and network as they are or as they were.
void Trainer::Worker::take_on(const LeftState& target) {
  if (target.selection) {
    use_selection(*target.selection,
                  variant_history_.at(target.settings, target.generation, target.engine.steps));
  }
  const int batch = target.settings->batch;
  if (engine_->network().bare_model() != target.settings->model) {
    if (batch < engine_->options().batch) engine_->set_batch(batch);  // it may not fit beside the present one
    engine_->set_network(target.settings->model);
  }
  const EngineSettings now = engine_->options();
  change(*engine_, now, *target.settings);
  try {
    engine_->network().set_first_weights(target.first_weights);
    first_weights_.reset();
    EngineState state = target.engine;
    const bool scales = view_.selection.precision == core::Precision::fp16;
    if ((state.control.growth_interval > 0) != scales) fit_loss_scale(state, engine_->state());
    engine_->restore(state);
  } catch (const std::bad_alloc&) {
    throw core::OutOfMemory("the host has too little memory to bring the training back");
  }
}

/// Kernels of users have the versions of `then`.
void Trainer::Worker::use_selection(const plan::Selection& selection, const ops::Variants& then) {
  ops::Variants variants = with_versions_of(then, view_.variants, selection, device_->kind());
  if (selection == view_.selection && variants == view_.variants) return;
  engine_->set_selection(selection, variants);
  view_.variants = std::move(variants);
  note_selection(selection);
}

void Trainer::Worker::return_to(std::uint64_t number) {
  if (number == view_.training) return;
  const LeftState* const found = left_.find(number);
  if (found == nullptr) {
    throw core::BadInput(fmt::format("that training is not kept any more: the last {} that were left are",
                                     LeftTrainings::kMost));
  }
  LeftState now = left_now();
  if (found->selection) now.selection = view_.selection;
  const bool other_network = found->settings->model != settings().model;
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
void Trainer::Worker::go_on_with(LeftState target, bool other_network, const std::string& told,
                                 std::size_t changes) {
  const bool other_batch = target.settings->batch != settings().batch;
  publishing_.edit_settings([&then = *target.settings](TrainingSettings& s) {
    const TrainingSettings now = std::exchange(s, then);
    s.precision = now.precision;  // those that run the steps are a choice of their own
    s.select = now.select;
    s.run_dir = now.run_dir;  // it may be recorded elsewhere now, or not at all
  });
  if (other_network) {
    follow_network();
  } else if (other_batch || target.selection) {
    note_choice();
  }
  steering_ = std::move(target.steering);
  speeds_.clear();
  steps_to_run_ = 0;
  keeper_->begin_training();
  static_cast<Progress&>(view_) = target.progress;
  publishing_.tally() = std::move(target.tally);
  const std::uint64_t id = view_.divergence.id;
  view_.divergence = steering_.diverged() ? target.divergence : Divergence{};
  view_.divergence.id = steering_.diverged() ? id + 1 : id;
  view_.divergence.can_roll_back = false;
  view_.training = target.number;
  list_left();
  ++view_.generation;
  note_sizes();
  plan_steps();
  show_anew();
  publishing_.emit(Return{view_.generation, target.generation, target.engine.steps});
  if (history_) history_->go_on(target.generation, view_.generation, target.engine.steps);
  begin_moments(target, changes);
  remember();
  mark(told);
  if (view_.state == TrainerState::finished || steering_.diverged()) view_.state = TrainerState::paused;
  clip_by_default();
  if (keeper_->writes_checkpoints()) {
    if (other_network) keeper_->follow(settings().model);
    if (!steering_.diverged()) write_checkpoint(false);
  }
  keeper_->note_settings();
  publish(true);
}

/// The window closes. What the training has is written, whatever its state.
void Trainer::Worker::handle_leave() {
  const bool writes = keeper_->recorder() != nullptr || !settings().save_file.empty();
  if (writes && view_.state != TrainerState::finished) {
    drain();
    handle_divergence();
    if (keeper_->records_by_itself()) attempt([this] { go_back_to_what_is_worth_it(); });
    finish();
    if (view_.state != TrainerState::finished) finish();  // it has just diverged, and nobody looks any more
  }
  try {
    if (keeper_->keeps_unsaved()) keep_unsaved();
  } catch (const std::exception& error) {
    return fail(fmt::format("the training could not be kept: {}", error.what()), false);
  }
  if (keeper_->records_by_itself() && view_.step > 0) view_.kept_in = view_.run_dir;
  view_.may_close = true;
  publish(true);
}

/// For a training that diverged, or was reset a moment ago, what was before that is worth more. False if nothing is
/// worth keeping.
bool Trainer::Worker::go_back_to_what_is_worth_it() {
  const auto worth_it = [this](const Steering& steering, const Progress& progress) {
    return !steering.diverged() && progress.step >= kLeastUnsavedSteps &&
           progress.seconds >= around_.unsaved_seconds;
  };
  if (!worth_it(steering_, view_)) {
    const auto& left = left_.all();
    const auto better = std::find_if(left.rbegin(), left.rend(), [&](const LeftState& each) {
      return worth_it(each.steering, each.progress);
    });
    if (better == left.rend()) return false;
    return_to(better->number);
  }
  return true;
}

void Trainer::Worker::keep_unsaved() {
  drain();
  if (!go_back_to_what_is_worth_it()) return;
  publish(true);
  keeper_->keep_unsaved(steering_);
}

}  // namespace warpscope::training
