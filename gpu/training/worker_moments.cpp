// The trainer's thread: moments of the training, and the way back to any of its steps: from the moment before it the
// steps are made again as they were made first, with the same settings, rates and variants.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/file.h"
#include "gpu/files/paths.h"
#include "gpu/training/engine_change.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

using std::chrono::milliseconds;

/// Between two moments, at the least.
constexpr auto kMomentInterval = milliseconds(100);
/// Share of the time that copying them takes, at the most.
constexpr double kMomentShare = 0.003;
/// Changes that follow each other faster are one, as those of a slider that is dragged.
constexpr auto kChangeInterval = milliseconds(250);

std::string step_text(std::uint64_t step) {
  return fmt::format("step {}", files::grouped(step));
}

}  // namespace

void Trainer::Worker::make_room_for_moments() {
  moments_ = Moments(static_cast<std::size_t>(settings().moments_mib) << 20);
  const std::size_t on_disk = static_cast<std::size_t>(settings().moments_disk_mib) << 20;
  if (!moments_.wanted() || on_disk == 0) return;
  moments_.use(std::make_unique<MomentFiles>(MomentFiles::Options{
      .budget = on_disk, .images = data_->train.count, .place = [this] { return place_of_moments(); }}));
}

/// A run that somebody asked to record keeps them; one that is recorded by itself has them as long as it trains.
MomentFiles::Place Trainer::Worker::place_of_moments() const {
  constexpr const char* kFolder = "moments";
  const std::string& run = settings().run_dir;
  if (run.empty() || keeper_->records_by_itself()) {
    return {.folder = files::cache_dir() / kFolder, .shared = true};  // where the next process clears up
  }
  return {.folder = std::filesystem::path(run) / kFolder, .stays = true};
}

/// The training that begins now has no past to go back to.
void Trainer::Worker::begin_moments() {
  variant_history_.note(view_.generation, engine_->steps(), view_.variants);
  moments_.begin(view_.generation);
  take_moment(true);
}

/// It goes on from `target`, in another generation.
void Trainer::Worker::begin_moments(const LeftState& target, std::size_t changes) {
  const std::uint64_t step = target.engine.steps;
  variant_history_.branch(view_.generation, target.generation, step);
  variant_history_.note(view_.generation, step, view_.variants);
  const bool open = target.settings->precision == view_.selection.precision && !steering_.diverged() &&
                    moments_.leads_to(target.generation, step, changes, steering_.last_evaluation());
  moments_.begin(view_.generation, target.generation, step, open, changes);
  moments_.note_change(step, view_.settings, view_.selection, true);
  take_moment(true);
  publish_moments();
}

/// Begins to copy the training as it is. Where one is on its way and this one `matters`, waits for that.
void Trainer::Worker::take_moment(bool matters) {
  if (!moments_.wanted()) return;
  if (matters && moments_.expects()) {
    drain();
    settle_moment(true);
    if (!moments_.wanted()) return;  // there was no memory for it
  }
  StateCopier& copier = engine_->copier();
  if (copier.bytes() > moments_.budget()) {
    publishing_.log(LogLevel::info,
                    fmt::format("no moments to go back to are kept: one takes {}, --moments allows {}",
                                core::memory_text(static_cast<double>(copier.bytes())),
                                core::memory_text(static_cast<double>(moments_.budget()))));
    return moments_.give_up();
  }
  if (moments_.expects() || copier.busy()) return;
  try {
    if (!first_weights_ || first_weights_->size() != engine_->network().first_weights().size()) {
      first_weights_ = moments_.shared(engine_->network().first_weights());
    }
    copier.begin();
  } catch (const core::OutOfMemory& error) {
    return without_moments(error);
  } catch (const std::bad_alloc&) {
    return without_moments(core::OutOfMemory("the host has too little memory"));
  }
  Moment moment;
  moment.step = engine_->steps();
  moment.matters = matters;
  moment.head_classes = engine_->model().head_classes;
  moment.regroupings = regroupings_;
  moment.first_weights = first_weights_;
  moment.settings = view_.settings;
  moment.selection = view_.selection;
  moment.steering = steering_;
  moment.progress = view_;
  moment.progress.epoch = engine_->epoch();
  moments_.expect(std::move(moment));
  if (view_.step == engine_->steps()) {
    moments_.before_point(kNoLastStep, steering_, view_, publishing_.tally());
  }
  const auto wait = std::chrono::duration<double>(copier.seconds() / kMomentShare);
  next_moment_ = Clock::now() + std::max<Clock::duration>(kMomentInterval,
                                                          std::chrono::duration_cast<Clock::duration>(wait));
  settle_moment();
}

void Trainer::Worker::without_moments(const core::Error& error) {
  moments_.give_up();
  publishing_.tell(fmt::format("there will be no moments to go back to: {}", error.what()));
}

void Trainer::Worker::take_moment_if_due() {
  if (const std::string why = moments_.settle_files(); !why.empty()) {
    publishing_.tell(fmt::format("moments of the training stay in memory only: {}", why));
  }
  publish_moments();
  if (!moments_.wanted()) return;
  if (engine_->copier().busy()) settle_moment();
  const bool trains = view_.state == TrainerState::running || view_.state == TrainerState::paused;
  if (!trains || steering_.diverged() || rate_search_ || rewinding_ || moments_.expects()) return;
  if (!moments_.due(engine_->steps(), engine_->copier().bytes()) || Clock::now() < next_moment_) return;
  take_moment(false);
}

/// The state of the one that is expected, if it is there; `waits` until it is.
void Trainer::Worker::settle_moment(bool waits) {
  try {
    if (auto state = engine_->copier().take(waits)) moments_.arrive(std::move(*state));
  } catch (const core::OutOfMemory& error) {
    without_moments(error);
  }
}

void Trainer::Worker::publish_moments() {
  if (auto list = moments_.take_list()) view_.moments = std::move(list);
  if (auto list = moments_.take_changes()) view_.changes = std::move(list);
}

/// What is about to change can be gone back to. One that is on its way is close enough: no step waits.
void Trainer::Worker::keep_before_change() {
  const auto now = Clock::now();
  const bool dragged = now - std::exchange(last_change_, now) < kChangeInterval;
  if (!moments_.wanted() || (dragged && view_.state == TrainerState::running)) return;
  if (moments_.expects()) return moments_.matters();
  if (!moments_.keep_longer(engine_->steps())) take_moment(true);
}

/// The weights are others, or steps are left out: what comes is made again from here only.
void Trainer::Worker::break_moments_off() {
  moments_.break_off(engine_->steps());
  take_moment(true);
}

/// By the command that is carried out.
void Trainer::Worker::note_change(const std::string& what) {
  moments_.note_change(engine_->steps(), view_.settings, view_.selection, false, command_);
  tree_.note(view_.training, engine_->steps(), what, command_);
  publish_moments();
}

const Moment* Trainer::Worker::find_moment(const WayBack& way) const {
  if (way.before == 0) return moments_.find(way.to);
  const auto change = moments_.change_by(way.before);
  return change ? moments_.find_before(*change) : nullptr;
}

/// The one from which that step is reached, with its state. Throws core::BadInput. All that is under way has come.
Moment Trainer::Worker::moment_for(const WayBack& way) {
  const std::uint64_t now = engine_->steps(), step = way.to;
  if (step > now) {
    throw core::BadInput(
        fmt::format("{} lies ahead: the training is at {}", step_text(step), step_text(now)));
  }
  drain();
  if (steering_.pending()) {
    throw core::BadInput("the training has just diverged: it can go back once it is told where");
  }
  settle_moment(true);
  while (const Moment* const found = find_moment(way)) {
    try {
      Moment moment = *found;
      if (!moment.engine) {
        publishing_.log(LogLevel::info,
                        fmt::format("the moment of {} is read from the disk", step_text(found->step)));
      }
      moment.engine = moments_.state_of(moment);
      return moment;
    } catch (const core::OutOfMemory&) {
      throw;
    } catch (const core::Error& error) {
      publishing_.tell(fmt::format("the moment of {} is lost: {}", step_text(found->step), error.what()));
      moments_.lose(found->number);
    }
  }
  const Moment* const first = moments_.next(0);
  if (first == nullptr) {
    throw core::BadInput("no moments are kept: --moments says how much memory they may take");
  }
  throw core::BadInput(fmt::format("no moment is kept from which {} can be reached; the first is {}",
                                   step_text(step), step_text(first->step)));
}

void Trainer::Worker::rewind_to(std::uint64_t step) {
  if (step != engine_->steps()) rewind({.to = step});
}

void Trainer::Worker::take_back(std::uint64_t command) {
  drain();
  const auto change = moments_.change_by(command);
  if (!change) {
    throw core::BadInput(moments_.wanted()
                             ? "what was changed then is not a part of this training's past"
                             : "no moments are kept: --moments says how much memory they may take");
  }
  rewind({.to = moments_.changes()[*change].step, .before = command});
}

void Trainer::Worker::rewind(const WayBack& way) {
  const std::uint64_t step = way.to;
  const Moment moment = moment_for(way);
  LeftState left = left_now();
  left.selection = view_.selection;
  Rewinding rewinding{.left = std::move(left),
                      .target = target_of(moment),
                      .from = moment.step,
                      .to = step,
                      .generation = moment.generation,
                      .next_change = moment.changes,
                      .next_evaluation = moment.evaluations,
                      .before = way.before,
                      .regroupings = moment.regroupings};
  const Moment* const next = moments_.next(step);
  const Progress& later = next != nullptr ? next->progress : rewinding.left.progress;
  if (later.step > moment.step) {
    const auto steps = static_cast<double>(later.step - moment.step);
    rewinding.step_seconds = (later.seconds - moment.progress.seconds) / steps;
  }
  rewinding.target.number = way.number.value_or(view_.trainings);
  rewinding_.emplace(std::move(rewinding));
  try {
    take_on(rewinding_->target);
  } catch (const ranks::RankMissing&) {
    throw;  // those that are left go on where the training was
  } catch (const core::Error&) {
    const LeftState was = std::move(rewinding_->left);
    rewinding_.reset();
    take_on(was);
    throw;
  }
  if (!way.number) ++view_.trainings;
  steps_to_run_ = 0;
  if (view_.state == TrainerState::running) view_.state = TrainerState::paused;
  if (rewinding_->from == step) return end_rewind();
  view_.rewind = {true, rewinding_->from, step, rewinding_->from};
  publishing_.log(LogLevel::info, fmt::format("on the way back to {}: it is computed again from {}",
                                              step_text(step), step_text(rewinding_->from)));
  publish(true);
}

/// On the way a rank was missing, and the training stands where it stood.
void Trainer::Worker::go_back_again(const WayBack& way) {
  if (way.to != engine_->steps()) attempt([&] { rewind(way); });  // it may be there already
  if (!way.goes_on) return;
  if (rewinding_) {
    rewinding_->goes_on = true;
  } else {
    handle_resume();
  }
}

/// The training as it was at that moment.
LeftState Trainer::Worker::target_of(const Moment& moment) {
  try {
    LeftState target{.number = 0,
                     .generation = view_.generation,
                     .settings = moment.settings,
                     .selection = moment.selection,
                     .first_weights = *moment.first_weights,
                     .engine = *moment.engine,
                     .steering = moment.steering,
                     .progress = moment.progress,
                     .tally = publishing_.tally(),
                     .divergence = view_.divergence};
    target.tally.back_to(moment.tally);
    target.steering.take_pending();
    return target;
  } catch (const std::bad_alloc&) {
    throw core::OutOfMemory("the host has too little memory to go back");
  }
}

/// True if that is all that `command` means while steps are made again; else they come to an end.
bool Trainer::Worker::rewinds_on(const Command& command) {
  bool& goes_on = rewinding_->goes_on;
  if (std::holds_alternative<Resume>(command)) return goes_on = true;
  if (std::holds_alternative<Pause>(command) && goes_on) {
    goes_on = false;
    return true;
  }
  cancel_rewind("stopped");
  return std::holds_alternative<Pause>(command);
}

void Trainer::Worker::advance_rewind() {
  try {
    if (engine_->steps() < rewinding_->to) make_step_again();
    take_again(false);
    view_.rewind.at = engine_->steps();
    if (engine_->steps() >= rewinding_->to) end_rewind();
  } catch (const ranks::RankMissing&) {
    throw;
  } catch (const core::Error& error) {
    if (!rewinding_) throw;
    cancel_rewind(error.what());
  }
}

void Trainer::Worker::make_step_again() {
  LeftState& target = rewinding_->target;
  enter_branch();
  judge_again(true);
  change_again(moments_.changes().size());
  const TrainingSettings& then = *target.settings;
  engine_->set_learning_rate(
      static_cast<float>(target.steering.rate(then, engine_->epoch(), planned_epochs(then))));
  engine_->step(false);
  target.steering.epoch_ended(then, engine_->epochs_done());
}

/// Where a generation begins, its steps are those that follow.
void Trainer::Worker::enter_branch() {
  const Past* const branch = moments_.branch_at(rewinding_->generation, engine_->steps(), rewinding_->to);
  if (branch == nullptr) return;
  judge_again(false);
  rewinding_->generation = branch->generation;
  rewinding_->next_change = branch->changes;
  rewinding_->next_evaluation = branch->evaluations;
}

/// What was changed after the step that has been made last, and before the next, of the first `end` changes.
void Trainer::Worker::change_again(std::size_t end) {
  LeftState& target = rewinding_->target;
  std::size_t& next = rewinding_->next_change;
  for (; next < end; ++next) {
    const NotedChange& change = moments_.changes()[next];
    if (change.generation != rewinding_->generation) continue;
    if (change.step > engine_->steps()) return;
    take_again(true);
    use_selection(change.selection, variant_history_.at(change.settings, change.generation, change.step));
    training::change(*engine_, *target.settings, *change.settings);
    target.steering.follow(*target.settings, *change.settings);
    target.settings = change.settings;
    target.selection = change.selection;
  }
}

/// What evaluations after the step that has been made last have told; `changes`: what was changed before each, too.
void Trainer::Worker::judge_again(bool changes) {
  LeftState& target = rewinding_->target;
  const Split steering = data_->validation.count > 0 ? Split::validation : Split::test;
  std::size_t& next = rewinding_->next_evaluation;
  for (; next < moments_.evaluations().size(); ++next) {
    const NotedEvaluation& noted = moments_.evaluations()[next];
    if (noted.generation != rewinding_->generation) continue;
    if (noted.evaluation.step > engine_->steps()) return;
    if (changes) change_again(noted.changes);
    take_again(true);
    target.steering.note_evaluation(noted.evaluation.step);
    target.tally.note(noted.point);
    if (noted.evaluation.split != steering) continue;
    target.progress.last_test = noted.point.values;
    target.steering.judge(*target.settings, noted.evaluation);
    if (noted.best) target.steering.note_best(noted.evaluation);
  }
}

/// The records of steps that were made again; `all` of them.
void Trainer::Worker::take_again(bool all) {
  const auto take = [this](bool flush) {
    for (const StepResult& step : engine_->collect_steps(flush)) note_again(step);
  };
  take(all);
  if (!all) return;
  engine_->synchronize();
  take(false);
}

void Trainer::Worker::end_rewind() {
  take_again(true);
  const auto taken_back = moments_.change_by(rewinding_->before);
  if (taken_back) change_again(*taken_back);
  judge_again(false);
  Rewinding done = std::move(*rewinding_);
  rewinding_.reset();
  view_.rewind.running = false;
  LeftState& target = done.target;
  target.engine.steps = engine_->steps();
  target.steering.take_pending();
  const bool other_network = target.settings->model != settings().model;
  std::string told = fmt::format("went back to {}", step_text(done.to));
  if (done.before > 0) {
    told.append(fmt::format(", before {}", tree_.changed_by(done.left.number, done.before)));
    tree_.begin_before(target.number, done.left.number, done.to, done.before);
  } else {
    tree_.begin(target.number, done.left.number, done.to);
  }
  left_.keep(std::move(done.left));
  if (done.from < done.to) {
    told += fmt::format(", computed again from {}", step_text(done.from));
    if (!engine_->repeats_bits()) {
      told += " by variants whose bits differ each time";
    } else if (done.regroupings != regroupings_ && !settings().deterministic) {
      told += " by other ranks, whose bits may differ";
    }
  }
  view_.state = TrainerState::paused;
  go_on_with(std::move(target), other_network, told, done.next_change);
  if (done.goes_on) return handle_resume();
  // Who has gone back looks at that step.
  const bool known = view_.evaluation && view_.evaluation->step == engine_->steps();
  if (view_.classifies && !known && !steering_.diverged()) start_evaluation(Split::validation, true);
}

/// The training stands where it stood.
void Trainer::Worker::cancel_rewind(const std::string& why) {
  take_again(true);
  take_on(rewinding_->left);
  const std::uint64_t to = rewinding_->to;
  rewinding_.reset();
  remember();
  view_.rewind.running = false;
  if (!why.empty()) {
    publishing_.tell(fmt::format("did not go back to {} ({}); the training is still at {}", step_text(to),
                                 why, step_text(engine_->steps())));
  }
  publish(true);
}

}  // namespace warpscope::training
