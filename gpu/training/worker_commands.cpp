// The trainer's thread: what people ask of it, between two steps.

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/messages/running.h"
#include "gpu/plan/presets.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang 14 does not deduce it for an aggregate

constexpr auto kCommandTime = std::chrono::milliseconds(20);

}  // namespace

/// In the order in which they were sent. What is left after 20 ms waits for the next step boundary: commands
/// that come faster than they are carried out slow the training down and do not stop it.
void Trainer::Worker::handle_commands() {
  const Clock::time_point end = Clock::now() + kCommandTime;
  do {
    Command command;
    {
      const std::lock_guard lock(mutex_);
      if (commands_.empty()) return;
      command = std::move(commands_.front());
      commands_.pop_front();
    }
    handle(command);
  } while (Clock::now() < end);
}

void Trainer::Worker::handle(const Command& command) {
  if (const auto* const observe = std::get_if<Observe>(&command)) return handle_observe(observe->request);
  if (const auto* const set = std::get_if<SetDisturbed>(&command)) {
    disturbed_ = set->disturbed;
    return;
  }
  const bool taken_when_finished =
      std::holds_alternative<Reset>(command) || std::holds_alternative<ReturnTo>(command) ||
      std::holds_alternative<Leave>(command) || std::holds_alternative<Save>(command) ||
      std::holds_alternative<SaveSettings>(command) || std::holds_alternative<CheckDeterminism>(command);
  if (view_.state == TrainerState::finished && !taken_when_finished) return;
  // The search's weights are not the training's: whatever is asked for meanwhile comes after it.
  if (rate_search_) end_rate_search(true);
  std::visit(Overloaded{[&](const Pause&) { pause(); },
                        [&](const Resume&) { handle_resume(); },
                        [&](const StepOnce&) {
                          pause();
                          engine_->interrupt();
                          ++memory_.steps_to_run;
                        },
                        [&](const Reset&) { attempt([&] { handle_reset(); }); },
                        [&](const ReturnTo& back) { attempt([&] { return_to(back.training); }); },
                        [&](const Select& select) { attempt([&] { handle_select(select.selection); }); },
                        [&](const SetLearningRate& set) {
                          OptimizerSettings changed = view_.optimizer;
                          changed.learning_rate = set.learning_rate;
                          attempt([&] { handle_optimizer(changed); });
                        },
                        [&](const SetOptimizer& set) { attempt([&] { handle_optimizer(set.optimizer); }); },
                        [&](const SetAugment& set) { attempt([&] { handle_augment(set.augment); }); },
                        [&](const SetSchedule& set) { attempt([&] { handle_schedule(set.schedule); }); },
                        [&](const SetSpikeThreshold& set) {
                          attempt([&] { handle_spike_threshold(set.threshold); });
                        },
                        [&](const FindRate& find) { attempt([&] { start_rate_search(find.settings); }); },
                        [](const CancelFindRate&) {},
                        [&](const RollBack&) { attempt([&] { handle_roll_back(); }); },
                        [&](const SaveCheckpoint&) {
                          attempt([&] {
                            if (!checkpoints_)
                              throw core::BadInput("no run is written: there is no folder for checkpoints");
                            write_checkpoint(false);
                          });
                        },
                        [&](const SetBatch& set) { attempt([&] { handle_batch(set.batch); }); },
                        [&](const SetNetwork& set) { attempt([&] { handle_network(set.network); }); },
                        [&](const Save& to) { attempt([&] { save(to.file); }); },
                        [&](const SaveSettings&) { attempt([&] { save_settings(); }); },
                        [&](const CheckDeterminism&) { attempt([&] { handle_determinism(); }); },
                        [](const Observe&) {},
                        [](const SetDisturbed&) {},
                        [&](const Leave&) { handle_leave(); },
                        [&](const Finish&) { finish(); }},
             command);
}

/// What cannot be done is told, and the training goes on as it was.
void Trainer::Worker::attempt(const std::function<void()>& change) {
  try {
    change();
  } catch (const core::Error& error) {
    notice(error.what());
    log(LogLevel::warning, error.what());
  }
}

void Trainer::Worker::pause() {
  if (view_.state != TrainerState::running) return;
  drain();
  set_state(TrainerState::paused);
}

void Trainer::Worker::handle_select(const plan::Selection& selection) {
  const std::string change = plan::describe_change(view_.selection, selection, device_->info());
  if (change.empty()) return;
  const std::string preset = plan::chosen_preset(view_.selection, selection, device_->info());
  plan::check_precision(device_->info(), selection.precision);
  drain();  // the speeds of the steps under way belong to the selection before
  engine_->set_selection(selection);
  view_.selection = selection;
  note_choice();
  view_.plan_bytes = engine_->plan_bytes();
  memory_.speeds.clear();
  show_anew();
  const std::string covered = with_covered(change, engine_->timings().timings());
  if (preset.empty()) {
    mark(covered);
  } else {
    mark(fmt::format("preset {}; {}", preset, covered), fmt::format("preset {}", preset));
  }
  clip_by_default();
  note_settings();
  publish(true);
}

void Trainer::Worker::handle_batch(int batch) {
  if (batch == view_.batch) return;
  drain();
  engine_->set_batch(batch);
  mark(fmt::format("batch: {} -> {}", view_.batch, batch));
  view_.batch = batch;
  note_choice();
  view_.plan_bytes = engine_->plan_bytes();
  plan_steps();
  memory_.speeds.clear();
  note_settings();
  publish(true);
}

/// Gradients of FP16 are clipped unless somebody chose otherwise.
void Trainer::Worker::clip_by_default() {
  if (clip_chosen_) return;
  const float norm = standard_clip_norm(view_.selection.precision);
  if (norm == view_.optimizer.clip_norm) return;
  OptimizerSettings clipped = view_.optimizer;
  clipped.clip_norm = norm;
  handle_optimizer(clipped);
  clip_chosen_ = false;
}

void Trainer::Worker::handle_resume() {
  if (view_.state != TrainerState::paused) return;
  if (memory_.diverged) {
    memory_.diverged = false;
    memory_.spikes = {};
    engine_->clear_halt();
  }
  engine_->interrupt();
  set_state(TrainerState::running);
}

void Trainer::Worker::handle_optimizer(const OptimizerSettings& optimizer) {
  const std::string change = describe_change(view_.optimizer, optimizer);
  if (change.empty()) return;
  const bool other_head = (optimizer.joint > 0) != (view_.optimizer.joint > 0);
  const bool other_steps = other_head || optimizer.rule != view_.optimizer.rule ||
                           optimizer.accumulate != view_.optimizer.accumulate ||
                           optimizer.per_sample != view_.optimizer.per_sample;
  if (other_steps) drain();  // the speeds of the steps under way belong to the optimizer before
  engine_->set_optimizer(optimizer);
  clip_chosen_ = clip_chosen_ || optimizer.clip_norm != view_.optimizer.clip_norm;
  mark(change);
  memory_.spikes.changed = memory_.spikes.count;
  view_.optimizer = optimizer;
  view_.learning_rate = optimizer.learning_rate;
  view_.plan_bytes = engine_->plan_bytes();
  view_.parameters = models::parameter_layout(engine_->model()).count;
  plan_steps();
  if (other_steps) {
    memory_.speeds.clear();
    remember();  // state of another optimizer cannot come back
  }
  note_settings();
  publish(true);
}

void Trainer::Worker::handle_augment(const AugmentSettings& augment) {
  check(augment);
  const std::string change = describe_change(view_.augment, augment);
  if (change.empty()) return;
  const bool other_steps =
      augments(augment) != augments(view_.augment) || (augment.mixup > 0) != (view_.augment.mixup > 0);
  if (other_steps) drain();  // the speeds of the steps under way belong to the ops before
  engine_->set_augment(augment);
  mark(change);
  view_.augment = augment;
  memory_.spikes = {};  // other images have other losses
  view_.plan_bytes = engine_->plan_bytes();
  if (other_steps) memory_.speeds.clear();
  observe_anew();
  note_settings();
  publish(true);
}

void Trainer::Worker::handle_schedule(const Schedule& schedule) {
  check(schedule);
  if (needs_length(schedule.kind)) check_length(schedule, view_.total_epochs);
  if (schedule == view_.schedule) return;
  mark(fmt::format("schedule: {} -> {}", to_string(view_.schedule), to_string(schedule)));
  view_.schedule = schedule;
  memory_.plateau = {};
  note_settings();
  publish(true);
}

void Trainer::Worker::handle_spike_threshold(double threshold) {
  SpikeSettings spikes = options_.spikes;
  spikes.threshold = threshold;
  check(spikes);
  if (spikes == options_.spikes) return;
  const auto told = [](double deviations) {
    return deviations > 0 ? fmt::format("{:g} standard deviations", deviations) : std::string("off");
  };
  mark(fmt::format("loss spike: {} -> {}", told(options_.spikes.threshold), told(threshold)));
  options_.spikes = spikes;
  view_.spike_threshold = threshold;
  note_settings();
  publish(true);
}

void Trainer::Worker::handle_roll_back() {
  drain();
  const std::uint64_t before = memory_.diverged ? view_.divergence.step - 1 : engine_->steps();
  if (!engine_->rollback().remembers(before)) {
    throw core::BadInput("there are no weights from before to go back to");
  }
  leave_training();
  OptimizerSettings slower = view_.optimizer;
  const Divergence& divergence = view_.divergence;
  slower.learning_rate =
      memory_.diverged && divergence.can_roll_back ? divergence.back_rate : rate_to_go_back(before);
  engine_->rollback().recall(before);
  engine_->set_optimizer(slower);
  mark(fmt::format("back to earlier weights; learning rate: {:g} -> {:g}", view_.optimizer.learning_rate,
                   slower.learning_rate));
  view_.optimizer = slower;
  view_.learning_rate = slower.learning_rate;
  view_.divergence.can_roll_back = false;
  begin_training();
  note_settings();
  if (view_.state == TrainerState::paused) handle_resume();
  publish(true);
}

void Trainer::Worker::note_choice() {
  energy_.reset();
  ladder_.choose(view_.selection, view_.batch, engine_->steps(), device_->info(),
                 engine_->timings().timings(), engine_->plan_bytes());
}

void Trainer::Worker::handle_determinism() {
  drain();
  auto report = std::make_shared<DeterminismReport>(engine_->check_determinism());
  report->id = view_.determinism ? view_.determinism->id + 1 : 1;
  const auto differ = std::count_if(report->tensors.begin(), report->tensors.end(),
                                    [](const TensorDifference& tensor) { return tensor.different > 0; });
  log(LogLevel::info,
      differ == 0 ? fmt::format("the same step twice: all bits equal in {} tensors", report->tensors.size())
                  : fmt::format("the same step twice: bits differ in {} of {} tensors", differ,
                                report->tensors.size()));
  view_.determinism = std::move(report);
  publish(true);
}

void Trainer::Worker::handle_reset() {
  leave_training();
  if (checkpoints_ && engine_->steps() > 0 && engine_->steps() != memory_.written_step && !memory_.diverged) {
    write_checkpoint(false);
    checkpoints_->flush();  // the next one must not take its place in the queue
    note_checkpoints();
  }
  publish(true);  // the points of the old curve leave before the restart
  engine_->reset();
  memory_ = {};
  begin_training();
  observe_anew();
  static_cast<Progress&>(view_) = {};
  view_.divergence = Divergence{.id = view_.divergence.id, .text = ""};
  ++view_.generation;
  plan_steps();
  remember();
  emit(Restart{view_.generation});
  log(LogLevel::info, "reset: first weights, step 0; undo (Ctrl+Z) brings the earlier training back");
  if (view_.state == TrainerState::finished) set_state(TrainerState::paused);
  publish(true);
}

}  // namespace warpscope::training
