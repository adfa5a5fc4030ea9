// The trainer's thread: what steps and evaluations give, and what follows from it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr double kImageShare = 1.0 / 12;  ///< of the time goes to showing images, at the most
/// Seconds from one reconstruction that goes to the run folder to the next: the first few come faster.
constexpr double kFirstKeptSeconds = 2.0, kKeptSeconds = 10.0;
/// An evaluation comes after so many times its images were trained on.
constexpr std::int64_t kTestSteps = 5;
/// Between two evaluations, unless test_every says how many: the step right after one has no time of its own, so few
/// steps would make no speed.
constexpr std::int64_t kLeastStepsBetween = 20;
constexpr std::size_t kSpeedWindow = 512;
constexpr auto kRememberInterval = milliseconds(1000);
constexpr auto kCheckpointInterval = milliseconds(1000);  ///< between two that are written for being the best

/// What was measured; `scaled`: losses are, and only then a step can be skipped for its scale.
MetricValues values_of(const StepResult& step, bool scaled, bool one_update, bool classifies) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  MetricValues values;
  values[Metric::loss] = step.loss;
  values[Metric::learning_rate] = step.learning_rate;
  values[Metric::accuracy] = classifies ? step.accuracy : kNone;
  values[Metric::gradient_norm] = one_update ? step.gradient_norm : kNone;
  values[Metric::update_ratio] = one_update ? step.update_ratio : kNone;
  values[Metric::loss_scale] = scaled ? step.loss_scale : kNone;
  values[Metric::head_loss] = step.head ? step.head_loss : kNone;
  values[Metric::head_accuracy] = step.head ? step.accuracy : kNone;
  if (step.step_seconds > 0) {
    values[Metric::images_per_second] = static_cast<float>(step.batch / step.step_seconds);
  }
  return values;
}

}  // namespace

void Trainer::Worker::collect(bool flush) {
  if (flush) last_flush_ = Clock::now();
  for (const StepResult& step : engine_->collect_steps(flush)) note_step(step);
  if (!unsent_.empty()) publish(false);
}

/// Waits for the steps under way and takes their records.
void Trainer::Worker::drain() {
  collect(true);
  engine_->synchronize();
  collect(false);
}

void Trainer::Worker::note_step(const StepResult& step) {
  const double speed = step.step_seconds > 0 ? step.batch / step.step_seconds : 0.0;
  if (step.step_seconds > 0) memory_.last_step_seconds = step.step_seconds;
  view_.seconds += step.step_seconds > 0 ? step.step_seconds : memory_.last_step_seconds;
  view_.step = step.step;
  view_.epoch = step.epoch;
  if (speed > 0) {
    memory_.speeds.push_back(speed);
    const auto too_long = [this](std::size_t size) {
      return size > 1 && static_cast<double>(size) * memory_.last_step_seconds > 1.0;
    };
    while (memory_.speeds.size() > kSpeedWindow || too_long(memory_.speeds.size()))
      memory_.speeds.pop_front();
  }
  // Where losses are not scaled a step is only left out because its loss is not finite, which is told otherwise. Where
  // each image updates by itself, no step has one gradient.
  const bool scaled = view_.selection.precision == core::Precision::fp16;
  const bool skipped = scaled && step.skipped;
  view_.last = values_of(step, scaled, !settings().optimizer.per_sample, view_.classifies);
  view_.skipped_steps += skipped;
  if (memory_.stop_reason.empty()) memory_.stop_reason = stop_after_time(settings().stop, view_.seconds);
  const bool slowed =
      step.timed && device_->kind() == core::DeviceKind::cuda;  // by the events between kernels
  ladder_.add(slowed || disturbed_ ? 0 : speed);
  emit(Point{step.step, step.epoch, view_.seconds, Split::train, skipped, view_.last});
  if (memory_.diverged) return;
  const Verdict verdict = observe(settings().spikes, memory_.spikes, step.loss, step.skipped);
  if (verdict.stability == Stability::fine) return;
  memory_.diverged = memory_.divergence_pending = true;
  memory_.divergence_is_finite = verdict.stability != Stability::not_finite;
  Divergence divergence;
  divergence.id = view_.divergence.id + 1;
  divergence.step = step.step;
  divergence.text = describe(verdict, step.step, step.loss);
  view_.divergence = divergence;
}

/// Pauses, or ends the run where nobody is there to go on, after looking where it began.
void Trainer::Worker::handle_divergence() {
  if (!std::exchange(memory_.divergence_pending, false)) return;
  memory_.steps_to_run = 0;
  drain();
  Divergence& divergence = view_.divergence;
  if (!memory_.divergence_is_finite) {
    if (const std::string where = first_not_finite(divergence.step - 1); !where.empty()) {
      divergence.text += "; " + where;
    }
  }
  if (settings().pause_on_divergence) keep_what_was_before_divergence();
  const float last_rate = view_.last[Metric::learning_rate];
  const std::string why = fmt::format("{}; try a lower learning rate than {:g}", divergence.text,
                                      std::isnan(last_rate) ? settings().optimizer.learning_rate : last_rate);
  if (!settings().pause_on_divergence) throw core::Error(why);
  notice(why);
  log(LogLevel::error, why);
  if (view_.state == TrainerState::running) set_state(TrainerState::paused);
}

/// "conv3 (conv2d.forward of conv3) has 12 numbers that are not finite", or "".
std::string Trainer::Worker::first_not_finite(std::uint64_t step) {
  try {
    const NotFinite found = engine_->find_not_finite(step);
    if (found.tensor.empty()) return "";
    const std::string made_by = found.op.empty() ? "" : fmt::format(" made by {}", found.op);
    const std::string layer = found.layer.empty() ? "" : fmt::format(" in layer {}", found.layer);
    return fmt::format("it begins in tensor {}{}{}: {} of its numbers are not finite", found.tensor, made_by,
                       layer, found.count);
  } catch (const core::OutOfMemory& error) {
    return fmt::format("where it begins is not known: {}", error.what());
  }
}

void Trainer::Worker::remember_if_due() {
  if (memory_.diverged || rate_search_ || view_.state != TrainerState::running) return;
  if (Clock::now() - last_remembered_ < kRememberInterval) return;
  if (!engine_->rollback().copy_due()) return;
  last_remembered_ = Clock::now();
  remember();
}

/// The step after which the next evaluation begins.
std::uint64_t Trainer::Worker::next_evaluation() const {
  const std::int64_t by_images =
      std::max(kLeastStepsBetween, kTestSteps * view_.test_images / engine_->images_of_step());
  const std::uint64_t steps =
      settings().test_every > 0 ? settings().test_every : static_cast<std::uint64_t>(by_images);
  const std::uint64_t next = memory_.evaluation_step + steps;
  return view_.steps_planned > 0 ? std::min(next, view_.steps_planned) : next;
}

void Trainer::Worker::note_evaluation(const std::shared_ptr<const Evaluation>& evaluation) {
  memory_.evaluation_step = evaluation->step;
  collect(true);
  Point test{evaluation->step, evaluation->epoch, view_.seconds, evaluation->split};
  test[Metric::loss] = static_cast<float>(evaluation->loss);
  const Metric quality = view_.classifies ? Metric::accuracy : Metric::psnr;
  test[quality] = static_cast<float>(view_.classifies ? evaluation->accuracy : evaluation->psnr);
  if (evaluation->head) {
    test[Metric::head_loss] = static_cast<float>(evaluation->head_loss);
    test[Metric::head_accuracy] = static_cast<float>(evaluation->head_accuracy);
  }
  emit(test);
  // Running statistics of norms can be what is wrong: no training loss shows these.
  const bool was_finite = !view_.evaluation || std::isfinite(view_.evaluation->loss);
  if (!std::isfinite(evaluation->loss) && was_finite && !memory_.diverged) {
    log(LogLevel::warning,
        fmt::format("the {} loss of step {} is not finite ({}), unlike the training's: look for "
                    "numbers that are not among weights and running statistics",
                    to_string(evaluation->split), evaluation->step, evaluation->loss));
  }
  view_.evaluation = evaluation;
  const Split steering = data_->validation.count > 0 ? Split::validation : Split::test;
  if (evaluation->split != steering) return;
  view_.last_test = test.values;
  steer_by(*evaluation);
}

/// What hangs on the loss of held-out images: plateau schedule, early stopping, the best checkpoint.
void Trainer::Worker::steer_by(const Evaluation& evaluation) {
  if (std::exchange(memory_.plateau_due, false)) {
    const auto base = static_cast<double>(settings().optimizer.learning_rate);
    const double before = rate_of_next_step();
    memory_.plateau = observe(settings().schedule, memory_.plateau, base, evaluation.loss);
    const double after = rate_of_next_step();
    if (after != before) mark(fmt::format("plateau: learning rate {:g} -> {:g}", before, after));
  }
  if (memory_.stop_reason.empty()) {
    memory_.stop_reason =
        stop_after_evaluation(settings().stop, memory_.stops, evaluation.loss, to_string(evaluation.split));
  }
  const bool best =
      std::isfinite(evaluation.loss) && (!memory_.best_loss || evaluation.loss < *memory_.best_loss);
  if (!checkpoints_ || !best || Clock::now() - last_checkpoint_ < kCheckpointInterval) return;
  memory_.best_loss = evaluation.loss;
  write_checkpoint(true);
}

void Trainer::Worker::show_images_if_due() {
  const auto now = Clock::now();
  if (!engine_->pictures().exchange() || engine_->steps() == memory_.shown_step) return;
  if (!memory_.image_pace.due(now, engine_->pictures().seconds(), kImageShare, around_.image_seconds)) return;
  if (view_.state == TrainerState::finished) return;
  const bool for_run = keep_images_due();
  const bool kept = for_run || (image_history_ && image_history_->wants(engine_->steps()));
  if (!kept && engine_->pictures().exchange()->unread()) return;
  if (!engine_->pictures().publish(kept)) return;
  memory_.kept_for_run = for_run;
  if (for_run) {
    const double wait = std::min(kKeptSeconds, kFirstKeptSeconds * ++memory_.kept_images);
    memory_.next_kept_images = now + std::chrono::duration_cast<Clock::duration>(duration<double>(wait));
  }
  memory_.shown_step = engine_->steps();
  looked_seconds_ += engine_->pictures().seconds();
  engine_->interrupt();
  memory_.image_pace.took_turn(now);
}

/// Another network or selection: the same step may give other pictures and looks, and they cost something else.
void Trainer::Worker::show_anew() {
  memory_.shown_step = kNoStep;
  memory_.image_pace.forget();
  observe_anew();
  for (Watch& watch : watches_) watch.pace.forget();
}

bool Trainer::Worker::keep_images_due() const {
  return recorder_ && Clock::now() >= memory_.next_kept_images;
}

void Trainer::Worker::hand_over_kept_images() {
  auto kept = engine_->pictures().take_kept();
  if (!kept) return;
  kept->generation = view_.generation;
  if (image_history_ && image_history_->wants(kept->step)) image_history_->add(*kept);
  if (recorder_ && memory_.kept_for_run) recorder_->status().show(std::move(*kept));
}

}  // namespace warpscope::training
