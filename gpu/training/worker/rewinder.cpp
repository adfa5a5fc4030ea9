#include "gpu/training/worker/rewinder.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/training/engine_change.h"
#include "gpu/training/worker/course.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

std::string step_text(std::uint64_t step) {
  return fmt::format("step {}", files::grouped(step));
}

}  // namespace

const Moment* Rewinder::find_moment(const WayBack& way) const {
  if (way.before == 0) return training_.moments.kept().find(way.to);
  const auto change = training_.moments.kept().change_by(way.before);
  return change ? training_.moments.kept().find_before(*change) : nullptr;
}

Moment Rewinder::moment_for(const WayBack& way) {
  const std::uint64_t now = training_.engine->steps(), step = way.to;
  if (step > now) {
    throw core::BadInput(
        fmt::format("{} lies ahead: the training is at {}", step_text(step), step_text(now)));
  }
  training_.collector.drain();
  if (training_.steering.pending()) {
    throw core::BadInput("the training has just diverged: it can go back once it is told where");
  }
  training_.moments.settle(true);
  while (const Moment* const found = find_moment(way)) {
    try {
      Moment moment = *found;
      if (!moment.engine) {
        training_.publishing.log(
            LogLevel::info, fmt::format("the moment of {} is read from the disk", step_text(found->step)));
      }
      moment.engine = training_.moments.kept().state_of(moment);
      return moment;
    } catch (const core::OutOfMemory&) {
      throw;
    } catch (const core::Error& error) {
      training_.publishing.tell(
          fmt::format("the moment of {} is lost: {}", step_text(found->step), error.what()));
      training_.moments.kept().lose(found->number);
    }
  }
  const Moment* const first = training_.moments.kept().next(0);
  if (first == nullptr) {
    throw core::BadInput("no moments are kept: --moments says how much memory they may take");
  }
  throw core::BadInput(fmt::format("no moment is kept from which {} can be reached; the first is {}",
                                   step_text(step), step_text(first->step)));
}

void Rewinder::rewind_to(std::uint64_t step) {
  if (step != training_.engine->steps()) rewind({.to = step});
}

void Rewinder::take_back(std::uint64_t command) {
  training_.collector.drain();
  const auto change = training_.moments.kept().change_by(command);
  if (!change) {
    throw core::BadInput(training_.moments.kept().wanted()
                             ? "what was changed then is not a part of this training's past"
                             : "no moments are kept: --moments says how much memory they may take");
  }
  rewind({.to = training_.moments.kept().changes()[*change].step, .before = command});
}

void Rewinder::rewind(const WayBack& way) {
  rewind_from(moment_for(way), way);
}

void Rewinder::rewind_from(const Moment& moment, const WayBack& way) {
  const std::uint64_t step = way.to;
  LeftState left = training_.trainings.left_now();
  left.selection = training_.view.selection;
  Rewinding rewinding{.left = std::move(left),
                      .target = target_of(moment),
                      .from = moment.step,
                      .to = step,
                      .generation = moment.generation,
                      .next_change = moment.changes,
                      .next_evaluation = moment.evaluations,
                      .before = way.before,
                      .other_kernels = moment.other_kernels,
                      .regroupings = moment.regroupings};
  const Moment* const next = training_.moments.kept().next(step);
  const Progress& later = next != nullptr ? next->progress : rewinding.left.progress;
  if (later.step > moment.step) {
    const auto steps = static_cast<double>(later.step - moment.step);
    rewinding.step_seconds = (later.seconds - moment.progress.seconds) / steps;
  }
  rewinding.target.number = way.number.value_or(training_.view.trainings);
  rewinding_.emplace(std::move(rewinding));
  try {
    training_.trainings.take_on(rewinding_->target);
  } catch (const ranks::RankMissing&) {
    throw;  // those that are left go on where the training was
  } catch (const core::Error&) {
    const LeftState was = std::move(rewinding_->left);
    rewinding_.reset();
    training_.trainings.take_on(was);
    throw;
  }
  if (!way.number) ++training_.view.trainings;
  training_.stepping.forget_single_steps();
  if (training_.view.state == TrainerState::running) training_.view.state = TrainerState::paused;
  if (rewinding_->from == step) return end();
  training_.view.rewind = {true, rewinding_->from, step, rewinding_->from};
  training_.publishing.log(LogLevel::info, fmt::format("on the way back to {}: it is computed again from {}",
                                                       step_text(step), step_text(rewinding_->from)));
  training_.reporter.publish(true);
}

void Rewinder::go_back_again(const WayBack& way) {
  if (way.to != training_.engine->steps())
    training_.reporter.attempt([&] { rewind(way); });  // it may be there already
  if (!way.goes_on) return;
  if (rewinding_) {
    rewinding_->goes_on = true;
  } else {
    training_.stepping.resume();
  }
}

/// The training as it was at that moment.
LeftState Rewinder::target_of(const Moment& moment) {
  try {
    LeftState target{.number = 0,
                     .generation = training_.view.generation,
                     .settings = moment.settings,
                     .selection = moment.selection,
                     .first_weights = *moment.first_weights,
                     .engine = *moment.engine,
                     .steering = moment.steering,
                     .progress = moment.progress,
                     .tally = training_.publishing.tally(),
                     .divergence = training_.view.divergence};
    target.tally.back_to(moment.tally);
    target.steering.take_pending();
    return target;
  } catch (const std::bad_alloc&) {
    throw core::OutOfMemory("the host has too little memory to go back");
  }
}

Rewinder::WayBack Rewinder::way() const {
  return {rewinding_->to, rewinding_->target.number, rewinding_->before, rewinding_->goes_on};
}

LeftState Rewinder::give_up() {
  LeftState left = std::move(rewinding_->left);
  rewinding_.reset();
  training_.view.rewind.running = false;
  return left;
}

bool Rewinder::rewinds_on(const Command& command) {
  bool& goes_on = rewinding_->goes_on;
  if (std::holds_alternative<Resume>(command)) return goes_on = true;
  if (std::holds_alternative<Pause>(command) && goes_on) {
    goes_on = false;
    return true;
  }
  cancel("stopped");
  return std::holds_alternative<Pause>(command);
}

void Rewinder::advance() {
  try {
    if (training_.engine->steps() < rewinding_->to) make_step_again();
    take_again(false);
    training_.view.rewind.at = training_.engine->steps();
    if (training_.engine->steps() >= rewinding_->to) end();
  } catch (const ranks::RankMissing&) {
    throw;
  } catch (const core::Error& error) {
    if (!rewinding_ || training_.around.aside) throw;
    cancel(error.what());
  }
}

void Rewinder::make_step_again() {
  LeftState& target = rewinding_->target;
  enter_branch();
  judge_again(true);
  change_again(training_.moments.kept().changes().size());
  const TrainingSettings& then = *target.settings;
  training_.engine->set_learning_rate(static_cast<float>(
      target.steering.rate(then, training_.engine->epoch(), planned_epochs(training_, then))));
  training_.engine->step(false);
  target.steering.epoch_ended(then, training_.engine->epochs_done());
}

/// Where a generation begins, its steps are those that follow.
void Rewinder::enter_branch() {
  const Past* const branch =
      training_.moments.kept().branch_at(rewinding_->generation, training_.engine->steps(), rewinding_->to);
  if (branch == nullptr) return;
  judge_again(false);
  rewinding_->generation = branch->generation;
  rewinding_->next_change = branch->changes;
  rewinding_->next_evaluation = branch->evaluations;
}

/// What was changed after the step that has been made last, and before the next, of the first `end` changes.
void Rewinder::change_again(std::size_t end) {
  LeftState& target = rewinding_->target;
  std::size_t& next = rewinding_->next_change;
  for (; next < end; ++next) {
    const NotedChange& change = training_.moments.kept().changes()[next];
    if (change.generation != rewinding_->generation) continue;
    if (change.step > training_.engine->steps()) return;
    take_again(true);
    training_.trainings.use_selection(
        change.selection, training_.variant_history.at(change.settings, change.generation, change.step));
    training::change(*training_.engine, *target.settings, *change.settings);
    target.steering.follow(*target.settings, *change.settings);
    target.settings = change.settings;
    target.selection = change.selection;
  }
}

/// What evaluations after the step that has been made last have told; `changes`: what was changed before each, too.
void Rewinder::judge_again(bool changes) {
  LeftState& target = rewinding_->target;
  const Split steering = training_.data->validation.count > 0 ? Split::validation : Split::test;
  std::size_t& next = rewinding_->next_evaluation;
  for (; next < training_.moments.kept().evaluations().size(); ++next) {
    const NotedEvaluation& noted = training_.moments.kept().evaluations()[next];
    if (noted.generation != rewinding_->generation) continue;
    if (noted.evaluation.step > training_.engine->steps()) return;
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
void Rewinder::take_again(bool all) {
  const auto take = [this](bool flush) {
    for (const StepResult& step : training_.engine->collect_steps(flush)) note_again(step);
  };
  take(all);
  if (!all) return;
  training_.engine->synchronize();
  take(false);
}

void Rewinder::end() {
  take_again(true);
  const auto taken_back = training_.moments.kept().change_by(rewinding_->before);
  if (taken_back) change_again(*taken_back);
  judge_again(false);
  Rewinding done = std::move(*rewinding_);
  rewinding_.reset();
  training_.view.rewind.running = false;
  LeftState& target = done.target;
  target.engine.steps = training_.engine->steps();
  target.steering.take_pending();
  const bool other_network = target.settings->model != training_.settings().model;
  std::string told = fmt::format("went back to {}", step_text(done.to));
  if (done.before > 0) {
    told.append(
        fmt::format(", before {}", training_.trainings.tree().changed_by(done.left.number, done.before)));
    training_.trainings.tree().begin_before(target.number, done.left.number, done.to, done.before);
  } else {
    training_.trainings.tree().begin(target.number, done.left.number, done.to);
  }
  training_.trainings.keep(std::move(done.left));
  if (done.from < done.to) {
    told += fmt::format(", computed again from {}", step_text(done.from));
    if (!training_.engine->repeats_bits()) {
      told += " by variants whose bits differ each time";
    } else if (done.other_kernels) {
      told += " by other kernels, whose bits may differ";
    } else if (done.regroupings != training_.ranks.regroupings() && !training_.settings().deterministic) {
      told += " by other ranks, whose bits may differ";
    }
  }
  training_.trainings.go_on_with(std::move(target), other_network, told, done.next_change);
  if (done.goes_on) return training_.stepping.resume();
  // Who has gone back looks at that step.
  const bool known =
      training_.view.evaluation && training_.view.evaluation->step == training_.engine->steps();
  if (training_.view.classifies && !known && !training_.steering.diverged())
    training_.evaluating.start(Split::validation, true);
}

void Rewinder::cancel(const std::string& why) {
  take_again(true);
  training_.trainings.take_on(rewinding_->left);
  const std::uint64_t to = rewinding_->to;
  rewinding_.reset();
  training_.trainings.remember();
  training_.view.rewind.running = false;
  if (!why.empty()) {
    training_.publishing.tell(fmt::format("did not go back to {} ({}); the training is still at {}",
                                          step_text(to), why, step_text(training_.engine->steps())));
  }
  training_.reporter.publish(true);
}

/// No feed is told of a step that is made again.
void Rewinder::note_again(const StepResult& step) {
  LeftState& target = rewinding_->target;
  Progress& progress = target.progress;
  const bool scaled = training_.view.selection.precision == core::Precision::fp16;
  const bool skipped = scaled && step.skipped;
  progress.step = step.step;
  progress.epoch = step.epoch;
  progress.seconds += rewinding_->step_seconds;
  StepResult untimed = step;
  untimed.step_seconds = 0;
  progress.last =
      values_of(untimed, scaled, !target.settings->optimizer.per_sample, training_.view.classifies);
  progress.skipped_steps += skipped;
  target.tally.note(Point{step.step, step.epoch, progress.seconds, Split::train, skipped, progress.last});
  target.steering.judge(*target.settings, step, progress.seconds);
}

}  // namespace warpscope::training
