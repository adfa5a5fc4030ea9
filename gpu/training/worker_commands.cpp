// The trainer's thread: what people ask of it, between two steps.

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/messages/running.h"
#include "gpu/plan/presets.h"
#include "gpu/settings/setting.h"
#include "gpu/training/engine_change.h"
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
  if (const auto* const copy = std::get_if<CopyWeights>(&command)) {
    copied_weights_ = copy->number;
    return handle_observe(observed_);
  }
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
                        [&](const Change& change) { attempt([&] { handle_change(change.settings); }); },
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
                        [&](const SetNetwork& set) { attempt([&] { handle_network(set.network); }); },
                        [&](const Save& to) { attempt([&] { save(to.file); }); },
                        [&](const SaveSettings&) { attempt([&] { save_settings(); }); },
                        [&](const CheckDeterminism&) { attempt([&] { handle_determinism(); }); },
                        [](const Observe&) {},
                        [](const CopyWeights&) {},
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
  const std::string change = plan::describe_change(view_.selection, selection, machine_of(view_));
  if (change.empty()) return;
  const std::string preset = plan::chosen_preset(view_.selection, selection, machine_of(view_));
  plan::check_precision(machine_of(view_), selection.precision);
  drain();  // the speeds of the steps under way belong to the selection before
  engine_->set_selection(selection);
  note_selection(selection);
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

/// Gradients of FP16 are clipped unless somebody chose otherwise.
void Trainer::Worker::clip_by_default() {
  if (around_.clip_chosen) return;
  const float norm = standard_clip_norm(view_.selection.precision);
  Configuration change;
  change.put(setting("clip_norm"), static_cast<double>(norm));
  handle_change(change);
  around_.clip_chosen = false;
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

void Trainer::Worker::handle_change(const Configuration& change) {
  const std::shared_ptr<const TrainingSettings> before = view_.settings;
  const TrainingSettings after = changed(*before, change);
  const Configuration different = difference(*before, after);
  if (different.empty()) return;
  if (needs_length(after.schedule.kind)) check_length(after.schedule, planned_epochs(after));
  const bool other_steps = !same_steps(*before, after);
  if (other_steps) drain();  // the speeds of the steps under way belong to the settings before
  training::change(*engine_, *before, after);
  view_.settings = std::make_shared<const TrainingSettings>(after);
  mark(describe_change(values_of(*before, different), different));
  if (other_steps) memory_.speeds.clear();
  follow_change(*before);
  note_settings();
  publish(true);
}

/// What the worker remembers of the training follows its new settings, which the engine has.
void Trainer::Worker::follow_change(const TrainingSettings& before) {
  const OptimizerSettings &was = before.optimizer, &now = settings().optimizer;
  around_.clip_chosen = around_.clip_chosen || now.clip_norm != was.clip_norm;
  if (!(now == was)) memory_.spikes.changed = memory_.spikes.count;
  if (!(settings().augment == before.augment)) {
    memory_.spikes = {};  // other images have other losses
    observe_anew();
  }
  if (!(settings().schedule == before.schedule)) memory_.plateau = {};
  view_.plan_bytes = engine_->plan_bytes();
  view_.parameters = models::parameter_layout(engine_->model()).count;
  plan_steps();
  if (settings().batch != before.batch) note_choice();
  const bool other_state = now.rule != was.rule || (now.joint > 0) != (was.joint > 0) ||
                           now.accumulate != was.accumulate || now.per_sample != was.per_sample;
  if (other_state) remember();  // state of another optimizer cannot come back
}

void Trainer::Worker::handle_roll_back() {
  drain();
  const std::uint64_t before = memory_.diverged ? view_.divergence.step - 1 : engine_->steps();
  if (!engine_->rollback().remembers(before)) {
    throw core::BadInput("there are no weights from before to go back to");
  }
  leave_training();
  OptimizerSettings slower = settings().optimizer;
  const Divergence& divergence = view_.divergence;
  slower.learning_rate =
      memory_.diverged && divergence.can_roll_back ? divergence.back_rate : rate_to_go_back(before);
  engine_->rollback().recall(before);
  engine_->set_optimizer(slower);
  mark(fmt::format("back to earlier weights; learning rate: {:g} -> {:g}", settings().optimizer.learning_rate,
                   slower.learning_rate));
  edit_settings([&](TrainingSettings& s) { s.optimizer = slower; });
  view_.divergence.can_roll_back = false;
  begin_training();
  note_settings();
  if (view_.state == TrainerState::paused) handle_resume();
  publish(true);
}

void Trainer::Worker::note_selection(const plan::Selection& selection) {
  view_.selection = selection;
  edit_settings([&](TrainingSettings& s) {
    s.precision = selection.precision;
    s.select = plan::selection_text(selection);
  });
}

void Trainer::Worker::note_choice() {
  energy_.reset();
  ladder_.choose(view_.selection, settings().batch, engine_->steps(), machine_of(view_),
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
  log(LogLevel::info, "reset: first weights, step 0; undo brings the earlier training back");
  if (view_.state == TrainerState::finished) set_state(TrainerState::paused);
  publish(true);
}

}  // namespace warpscope::training
