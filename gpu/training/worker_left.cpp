// The trainer's thread: trainings that are left by a reset, another network or divergence, and the way back to them.

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

constexpr std::size_t kMostLeft = 8;
constexpr std::size_t kMostLeftBytes = std::size_t{2} << 30;  ///< the newest is kept however large it is

std::size_t bytes_of(const EngineState& state) {
  std::size_t floats = state.parameters.size();
  for (const std::vector<float>& each : state.states) floats += each.size();
  return floats * sizeof(float);
}

}  // namespace

/// As Rollback::remember(), with what the worker knows of that step.
void Trainer::Worker::remember() {
  engine_->rollback().remember();
  RememberedProgress now{memory_, view_, {}};
  now.progress.step = engine_->steps();
  now.progress.epoch = engine_->epoch();
  now.memory.steps_to_run = 0;
  remembered_.push_back(std::move(now));
  if (remembered_.size() > 2) remembered_.pop_front();
}

/// The training between two steps, for return_to(). Throws core::OutOfMemory.
Trainer::Worker::LeftState Trainer::Worker::left_now() {
  drain();
  try {
    LeftState left{.number = view_.training,
                   .generation = view_.generation,
                   .settings = view_.settings,
                   .first_weights = engine_->network().first_weights(),
                   .engine = engine_->state(),
                   .memory = memory_,
                   .progress = view_,
                   .tally = tally_,
                   .divergence = view_.divergence};
    left.progress.step = left.engine.steps;
    left.progress.epoch = engine_->epoch();
    return left;
  } catch (const std::bad_alloc&) {
    throw core::OutOfMemory("the host has too little memory to keep the training that would be left");
  }
}

void Trainer::Worker::keep(LeftState left) {
  left.memory.speeds.clear();
  left.memory.steps_to_run = 0;
  left.memory.divergence_pending = false;
  left_.push_back(std::move(left));
  std::size_t bytes = 0;
  for (const LeftState& each : left_) bytes += bytes_of(each.engine);
  while (left_.size() > 1 && (left_.size() > kMostLeft || bytes > kMostLeftBytes)) {
    bytes -= bytes_of(left_.front().engine);
    left_.pop_front();
  }
  publish_left();
}

void Trainer::Worker::publish_left() {
  auto left = std::make_shared<std::vector<LeftTraining>>();
  for (const LeftState& each : left_) left->push_back({each.number, each.engine.steps});
  view_.left = std::move(left);
}

/// What is trained from now on is another training than the one that was.
void Trainer::Worker::begin_training() {
  view_.training = view_.trainings++;
}

void Trainer::Worker::leave_training() {
  keep(left_now());
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
  const auto found =
      std::find_if(remembered_.begin(), remembered_.end(),
                   [&](const RememberedProgress& each) { return each.progress.step == state->steps; });
  LeftState left{.number = view_.training,
                 .generation = view_.generation,
                 .settings = view_.settings,
                 .first_weights = engine_->network().first_weights(),
                 .engine = std::move(*state),
                 .memory = found == remembered_.end() ? Memory{} : found->memory,
                 .progress = found == remembered_.end() ? Progress{} : found->progress,
                 .tally = tally_,
                 .divergence = {}};
  if (found != remembered_.end() && found->tally) {
    left.tally.back_to(*found->tally);
    left.progress.seconds = left.tally.figures().seconds;  // steps were under way when the copy was taken
  }
  left.memory.diverged = false;
  left.progress.step = left.engine.steps;
  keep(std::move(left));
  begin_training();
}

/// Network, optimizer, weights, state and place in the data; what cannot be throws, with nothing changed.
void Trainer::Worker::restore(const LeftState& target) {
  const bool other_network = target.settings->model != settings().model;
  if (other_network) engine_->set_network(target.settings->model);
  engine_->set_optimizer(target.settings->optimizer);
  if (other_network) engine_->network().set_first_weights(target.first_weights);
  EngineState state = target.engine;
  const bool scales = view_.selection.precision == core::Precision::fp16;
  if ((state.control.growth_interval > 0) != scales) {
    const std::uint32_t updates = std::exchange(state.control, engine_->state().control).updates;
    state.control.updates = updates;
  }
  engine_->restore(state);
}

void Trainer::Worker::return_to(std::uint64_t number) {
  const auto found = std::find_if(left_.begin(), left_.end(),
                                  [number](const LeftState& each) { return each.number == number; });
  if (found == left_.end()) {
    throw core::BadInput(
        fmt::format("that training is not kept any more: the last {} that were left are", kMostLeft));
  }
  LeftState now = left_now();
  const bool other_network = found->settings->model != settings().model;
  try {
    restore(*found);
  } catch (const core::Error&) {
    restore(now);
    throw;
  }
  LeftState target = std::move(*found);
  left_.erase(found);
  keep(std::move(now));
  go_on_with(std::move(target), other_network);
}

/// What the worker and those who look on know of the training, once the engine has it.
void Trainer::Worker::go_on_with(LeftState target, bool other_network) {
  edit_settings([&then = *target.settings](TrainingSettings& s) {
    s.model = then.model;
    s.init_file = then.init_file;
    s.init_partly = then.init_partly;
    s.optimizer = then.optimizer;
  });
  if (other_network) follow_network();
  memory_ = std::move(target.memory);
  memory_.written_step = kNoStep;
  static_cast<Progress&>(view_) = target.progress;
  tally_ = std::move(target.tally);
  const std::uint64_t id = view_.divergence.id;
  view_.divergence = memory_.diverged ? target.divergence : Divergence{};
  view_.divergence.id = memory_.diverged ? id + 1 : id;
  view_.divergence.can_roll_back = false;
  view_.training = target.number;
  ++view_.generation;
  view_.parameters = models::parameter_layout(engine_->model()).count;
  view_.plan_bytes = engine_->plan_bytes();
  plan_steps();
  show_anew();
  remember();
  emit(Return{view_.generation, target.generation, target.engine.steps});
  mark(fmt::format("back at step {}, where the training was left", target.engine.steps));
  if (view_.state == TrainerState::finished || memory_.diverged) view_.state = TrainerState::paused;
  if (checkpoints_) {
    if (other_network) checkpoints_->follow(settings().model);
    if (!memory_.diverged) write_checkpoint(false);
  }
  note_settings();
  publish(true);
}

}  // namespace warpscope::training
