// The trainer's thread: what people ask of it, between two steps.

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/messages/running.h"
#include "gpu/models/model_file.h"
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

/// As a run folder will hold it. Throws core::BadInput if it cannot be held.
models::Model as_written(const models::Model& network) {
  models::Model named = models::with_name_of_its_own(models::with_head(network, 0));
  models::check_model(named);
  models::Model read = models::model_of(models::text_of(named));
  if (read != named) {
    throw core::BadInput(
        fmt::format("network {} has settings that no file of a network can hold", named.name));
  }
  return named;
}

}  // namespace

/// In the order in which they were sent. What is left after 20 ms waits for the next step boundary: commands
/// that come faster than they are carried out slow the training down and do not stop it.
void Trainer::Worker::handle_commands() {
  const Clock::time_point end = Clock::now() + kCommandTime;
  do {
    const auto next = inbox_.take();
    if (!next) return;
    bool taken = false;
    command_ = next->number;
    try {
      taken = handle_surely(next->command);
    } catch (...) {
      view_.answers.note(next->number, false);
      throw;
    }
    view_.answers.note(next->number, taken);
  } while (Clock::now() < end);
}

/// What ranks that are missing keep from being done is done once the training goes on without them.
bool Trainer::Worker::handle_surely(const Command& command) {
  try {
    return handle(command);
  } catch (const ranks::RankMissing& missing) {
    go_on_without(missing);
  }
  return handle(command);
}

bool Trainer::Worker::handle(const Command& command) {
  const bool only_looks =
      std::holds_alternative<Observe>(command) || std::holds_alternative<CopyWeights>(command) ||
      std::holds_alternative<SetDisturbed>(command) || std::holds_alternative<LoadKernel>(command) ||
      std::holds_alternative<WatchKernels>(command) || std::holds_alternative<ApplyWhenProved>(command);
  const bool taken_when_finished =
      only_looks || std::holds_alternative<Reset>(command) || std::holds_alternative<ReturnTo>(command) ||
      std::holds_alternative<RewindTo>(command) || std::holds_alternative<TakeBack>(command) ||
      std::holds_alternative<Leave>(command) || std::holds_alternative<Save>(command) ||
      std::holds_alternative<SaveSettings>(command) || std::holds_alternative<CheckDeterminism>(command);
  if (rewinding_ && !only_looks && rewinds_on(command)) return true;
  if (view_.state == TrainerState::finished && !taken_when_finished) return false;
  // The search's weights are not the training's: whatever is asked for meanwhile comes after it.
  if (rate_search_ && !only_looks) end_rate_search(true);
  bool taken = true;
  std::visit(
      Overloaded{[&](const Pause&) { pause(); },
                 [&](const Resume&) { handle_resume(); },
                 [&](const StepOnce&) {
                   pause();
                   engine_->interrupt();
                   ++steps_to_run_;
                 },
                 [&](const Reset&) { taken = attempt([&] { handle_reset(); }); },
                 [&](const ReturnTo& back) { taken = attempt([&] { return_to(back.training); }); },
                 [&](const RewindTo& back) { taken = attempt([&] { rewind_to(back.step); }); },
                 [&](const TakeBack& back) { taken = attempt([&] { take_back(back.command); }); },
                 [&](const Select& select) { taken = attempt([&] { handle_select(select.selection); }); },
                 [&](const Change& change) { taken = attempt([&] { handle_change(change.settings); }); },
                 [&](const FindRate& find) { taken = attempt([&] { start_rate_search(find.settings); }); },
                 [](const CancelFindRate&) {},
                 [&](const RollBack&) { taken = attempt([&] { handle_roll_back(); }); },
                 [&](const SaveCheckpoint&) {
                   taken = attempt([&] {
                     if (!keeper_->writes_checkpoints())
                       throw core::BadInput("no run is written: there is no folder for checkpoints");
                     write_checkpoint(false);
                   });
                 },
                 [&](const SetNetwork& set) { taken = attempt([&] { handle_network(set.network); }); },
                 [&](const SetRanks& set) { taken = attempt([&] { handle_ranks(set.ranks); }); },
                 [&](const Save& to) { taken = attempt([&] { keeper_->save_weights(to.file); }); },
                 [&](const SaveSettings&) { taken = attempt([&] { keeper_->save_settings(); }); },
                 [&](const Record& record) {
                   taken = attempt([&] {
                     drain();
                     publish(true);  // the points so far are where the recorder takes them from
                     keeper_->record(record.on, steering_);
                   });
                 },
                 [&](const CheckDeterminism&) { taken = attempt([&] { handle_determinism(); }); },
                 [&](const MeasureLinks&) { taken = attempt([&] { handle_links(); }); },
                 [&](const Observe& observe) {
                   watching_->ask(observe.request);
                   const bool shown = observe.request.distributions || observe.request.inspected_image;
                   wants_gradients_ = views() && shown;
                   make_gradients();
                 },
                 [&](const LookAt& look) {
                   if (views() && inbox_.holds<LookAt>()) return;  // the last one counts
                   taken = attempt([&] { look_at(look.step); });
                 },
                 [&](const CopyWeights& copy) { watching_->copy_weights(copy.number); },
                 [&](const SetDisturbed& set) {
                   disturbed_ = set.disturbed;
                   if (energy_) energy_->interrupt();
                 },
                 [&](const LoadKernel& load) {
                   taken = attempt([&] { kernel_keeper().load(load.file, load.apply_when_proved); });
                 },
                 [&](const WatchKernels& watch) {
                   taken = attempt(
                       [&] { kernel_keeper().watch(watch.folder, watch.on, watch.apply_when_proved); });
                 },
                 [&](const ApplyWhenProved& apply) {
                   taken = attempt([&] { kernel_keeper().apply_when_proved(apply.file, apply.on); });
                 },
                 [&](const UseKernel& use) { taken = attempt([&] { use_kernel(use.file, use.version); }); },
                 [&](const ForgetKernel& forget) { taken = attempt([&] { forget_kernel(forget.file); }); },
                 [&](const Leave&) { handle_leave(); },
                 [&](const Finish&) { finish(); }},
      command);
  return taken;
}

/// What cannot be done is told, and the training goes on as it was.
bool Trainer::Worker::attempt(const std::function<void()>& change) {
  try {
    change();
    return true;
  } catch (const ranks::RankMissing&) {
    throw;
  } catch (const core::Error& error) {
    publishing_.tell(error.what());
    return false;
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
  choose(selection, view_.variants, preset.empty() ? change : fmt::format("preset {}", preset));
  const std::string covered = with_covered(change, engine_->timings().timings());
  if (preset.empty()) {
    mark(covered);
  } else {
    publishing_.mark(engine_->steps(), fmt::format("preset {}; {}", preset, covered),
                     fmt::format("preset {}", preset));
  }
  clip_by_default();
  keeper_->note_settings();
  publish(true);
}

/// From the next step on; `kernel`: another version of a user's kernel, by name.
void Trainer::Worker::choose(const plan::Selection& selection, const ops::Variants& variants,
                             const std::string& what, const std::string& kernel) {
  drain();  // the speeds of the steps under way belong to the selection before
  keep_before_change();
  engine_->set_selection(selection, variants);
  variant_history_.note(view_.settings, view_.variants);
  if (variants != view_.variants) take_table(variants);
  note_selection(selection);
  variant_history_.note(view_.settings, view_.variants);
  ladder_.change_kernel(kernel);
  note_choice();
  note_change(what);
  note_kernels_that_run();
  view_.plan_bytes = engine_->plan_bytes();
  speeds_.clear();
  show_anew();
}

/// Gradients of FP16 are clipped unless somebody chose otherwise.
void Trainer::Worker::clip_by_default() {
  if (around_.clip_chosen) return;
  const float norm = standard_clip_norm(view_.selection.precision);
  Configuration change;
  change.put(setting("clip_norm"), static_cast<double>(norm));
  attempt([&] { handle_change(change); });
  around_.clip_chosen = false;
}

void Trainer::Worker::handle_resume() {
  if (view_.state != TrainerState::paused || steering_.pending()) return;  // first it is told what was found
  if (steering_.diverged()) {
    steering_.clear_divergence();
    steering_.restart_statistics();
    engine_->clear_halt();
    break_moments_off();
  }
  engine_->interrupt();
  set_state(TrainerState::running);
}

void Trainer::Worker::start_rate_search(const RateFinderOptions& options) {
  if (view_.state != TrainerState::running && view_.state != TrainerState::paused) return;
  check(options);
  drain();
  rate_search_.emplace(*engine_, publishing_, options);
  publish(true);
}

void Trainer::Worker::end_rate_search(bool cancelled) {
  rate_search_->end(cancelled);
  rate_search_.reset();
  remember();
  engine_->interrupt();
  publish(true);
}

void Trainer::Worker::handle_change(const Configuration& change) {
  const std::shared_ptr<const TrainingSettings> before = view_.settings;
  const TrainingSettings after = changed(*before, change);
  const Configuration different = difference(*before, after);
  if (different.empty()) return;
  if (needs_length(after.schedule.kind)) check_length(after.schedule, planned_epochs(after));
  const bool other_steps = !same_steps(*before, after);
  if (other_steps) drain();  // the speeds of the steps under way belong to the settings before
  keep_before_change();
  training::change(*engine_, *before, after);
  view_.settings = std::make_shared<const TrainingSettings>(after);
  const std::string what = describe_change(values_of(*before, different), different);
  note_change(what);
  mark(what);
  if (other_steps) speeds_.clear();
  follow_change(*before);
  keeper_->note_settings();
  publish(true);
}

/// What the worker remembers of the training follows its new settings, which the engine has.
void Trainer::Worker::follow_change(const TrainingSettings& before) {
  const OptimizerSettings &was = before.optimizer, &now = settings().optimizer;
  around_.clip_chosen = around_.clip_chosen || now.clip_norm != was.clip_norm;
  steering_.follow(before, settings());
  if (!(settings().augment == before.augment)) watching_->look_anew();
  note_sizes();
  plan_steps();
  if (settings().batch != before.batch) note_choice();
  const bool other_state = now.rule != was.rule || (now.joint > 0) != (was.joint > 0) ||
                           now.accumulate != was.accumulate || now.per_sample != was.per_sample;
  if (other_state) remember();  // state of another optimizer cannot come back
}

void Trainer::Worker::handle_roll_back() {
  drain();
  const std::uint64_t before = steering_.diverged() ? view_.divergence.step - 1 : engine_->steps();
  if (!engine_->rollback().remembers(before)) {
    throw core::BadInput("there are no weights from before to go back to");
  }
  keep(left_now());
  keep_before_change();
  OptimizerSettings slower = settings().optimizer;
  const Divergence& divergence = view_.divergence;
  slower.learning_rate =
      steering_.diverged() && divergence.can_roll_back ? divergence.back_rate : rate_to_go_back(before);
  engine_->recall(before);
  last_remembered_ = Clock::now();  // there is a copy of these weights
  engine_->set_optimizer(slower);
  const std::string slowed =
      fmt::format("learning rate: {:g} -> {:g}", settings().optimizer.learning_rate, slower.learning_rate);
  mark("back to earlier weights; " + slowed, true);
  const TrainingSettings was = settings();
  publishing_.edit_settings([&](TrainingSettings& s) { s.optimizer = slower; });
  steering_.follow(was, settings());
  view_.divergence.can_roll_back = false;
  break_moments_off();
  keeper_->begin_training();
  tree_.begin(view_.trainings, view_.training, engine_->steps());
  tree_.note(view_.trainings, engine_->steps(), slowed, command_);
  begin_training();
  list_left();
  keeper_->note_settings();
  if (view_.state == TrainerState::paused) handle_resume();
  publish(true);
}

void Trainer::Worker::note_selection(const plan::Selection& selection) {
  view_.selection = selection;
  publishing_.edit_settings([&](TrainingSettings& s) {
    s.precision = selection.precision;
    s.select = plan::selection_text(selection);
  });
}

void Trainer::Worker::note_choice() {
  energy_->interrupt();
  ladder_.choose(view_.selection, settings().batch, engine_->steps(), machine_of(view_),
                 engine_->timings().timings(), engine_->plan_bytes());
}

void Trainer::Worker::handle_determinism() {
  drain();
  auto report = std::make_shared<DeterminismReport>(engine_->check_determinism());
  report->id = view_.determinism ? view_.determinism->id + 1 : 1;
  const auto differ = std::count_if(report->tensors.begin(), report->tensors.end(),
                                    [](const TensorDifference& tensor) { return tensor.different > 0; });
  publishing_.log(
      LogLevel::info,
      differ == 0 ? fmt::format("the same step twice: all bits equal in {} tensors", report->tensors.size())
                  : fmt::format("the same step twice: bits differ in {} of {} tensors", differ,
                                report->tensors.size()));
  view_.determinism = std::move(report);
  publish(true);
}

void Trainer::Worker::handle_links() {
  if (!around_.ranks) throw core::BadInput("this training has one rank, so there are no links to measure");
  drain();
  links_ = engine_->measure_links();
  publishing_.log(LogLevel::info, fmt::format("links between ranks measured, over {}", links_.over));
  look_at_ranks(true);
  publish(true);
}

void Trainer::Worker::handle_reset() {
  keep(left_now());
  if (keeper_->writes_checkpoints() && engine_->steps() > 0 && !keeper_->is_written(engine_->steps()) &&
      !steering_.diverged()) {
    write_checkpoint(false);
    keeper_->flush();
  }
  publish(true);  // the points of the old curve leave before the restart
  engine_->reset();
  steering_ = {};
  speeds_.clear();
  last_step_seconds_ = 0;
  steps_to_run_ = 0;
  showing_.restart();
  keeper_->begin_training();
  tree_.begin(view_.trainings);
  begin_training();
  list_left();
  watching_->look_anew();
  static_cast<Progress&>(view_) = {};
  view_.divergence = Divergence{.id = view_.divergence.id, .text = ""};
  ++view_.generation;
  plan_steps();
  remember();
  publishing_.emit(Restart{view_.generation});
  begin_moments();
  publishing_.log(LogLevel::info, "reset: first weights, step 0; undo brings the earlier training back");
  if (view_.state == TrainerState::finished) view_.state = TrainerState::paused;
  publish(true);
}

void Trainer::Worker::handle_network(const models::Model& network) {
  const models::Model named = as_written(network);
  if (named == settings().model) return;
  drain();  // the speeds of the steps under way belong to the network before
  if (steering_.pending()) {
    throw core::BadInput("the training has just diverged: the network can be changed once it is told where");
  }
  LeftState before = left_now();
  keep_before_change();
  const CarriedOver carried = engine_->set_network(named);
  tree_.begin_behind(view_.trainings, view_.training, engine_->steps());
  tree_.note(view_.trainings, engine_->steps(),
             fmt::format("network: {} -> {}", settings().model.name, named.name), command_);
  left_.keep(std::move(before));
  begin_training();
  list_left();
  publishing_.edit_settings([&](TrainingSettings& s) {
    s.model = named;
    s.init_file.clear();
    s.init_partly = false;
  });
  follow_network();
  remember();
  break_moments_off();
  mark(fmt::format("network changed: {} of {} tensors carried over", carried.tensors, carried.of));
  if (keeper_->writes_checkpoints()) {
    // run.json names the new network only once there is a checkpoint of it to go on from.
    keeper_->follow(named);
    write_checkpoint(false);
    keeper_->flush();
  }
  keeper_->note_settings();
  publish(true);
}

/// What was found out about the network before does not hold for this one.
void Trainer::Worker::follow_network() {
  first_weights_.reset();
  view_.network = std::make_shared<const models::Model>(settings().model);
  ++view_.network_number;
  view_.evaluation = nullptr;
  view_.last_test = {};
  view_.model = settings().model.name;
  note_sizes();
  view_.divergence.can_roll_back = false;
  ladder_.change_network();
  note_choice();
  speeds_.clear();
  show_anew();
  steering_.restart_statistics();
  steering_.forget_evaluations();
  watching_->follow_network();
  recorded_->follow_network();
}

/// Another network or selection: the same step may give other pictures and looks, and they cost something else.
void Trainer::Worker::show_anew() {
  showing_.show_anew();
  watching_->forget_costs();
}

}  // namespace warpscope::training
