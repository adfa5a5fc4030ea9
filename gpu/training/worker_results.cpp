// The trainer's thread: what steps and evaluations give, and what follows from it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

/// An evaluation comes after so many times its images were trained on.
constexpr std::int64_t kTestSteps = 5;
/// Between two evaluations, unless test_every says how many: the step right after one has no time of its own, so few
/// steps would make no speed.
constexpr std::int64_t kLeastStepsBetween = 20;
constexpr auto kRememberInterval = milliseconds(1000);
constexpr auto kTimingInterval = milliseconds(250);
/// Where timing costs nothing: so that the newest samples are of a second and more, and not of one moment.
constexpr auto kCpuTimingInterval = milliseconds(50);

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
  const std::uint64_t timed = engine_->timings().added();
  for (const StepResult& step : engine_->collect_steps(flush)) note_step(step);
  if (engine_->timings().added() > timed) ladder_.add_times(engine_->timings().newest(1));
  if (publishing_.has_unsent()) publish(false);
}

/// Waits for the steps under way and takes their records.
void Trainer::Worker::drain() {
  collect(true);
  engine_->synchronize();
  collect(false);
  if (!moments_.expects()) return;
  moments_.before_point(kNoLastStep, steering_, view_, publishing_.tally());  // all have come
  settle_moment();
}

void Trainer::Worker::note_step(const StepResult& step) {
  moments_.before_point(step.step, steering_, view_, publishing_.tally());
  if (step.step_seconds > 0) last_step_seconds_ = step.step_seconds;
  view_.seconds +=
      step.step_seconds > 0 ? step.step_seconds : speeds_.usual_seconds(step.batch, last_step_seconds_);
  view_.step = step.step;
  view_.epoch = step.epoch;
  // Where losses are not scaled a step is only left out because its loss is not finite, which is told otherwise. Where
  // each image updates by itself, no step has one gradient.
  const bool scaled = view_.selection.precision == core::Precision::fp16;
  const bool skipped = scaled && step.skipped;
  view_.last = values_of(step, scaled, !settings().optimizer.per_sample, view_.classifies);
  speeds_.add(view_.seconds, static_cast<double>(view_.last[Metric::images_per_second]));
  view_.skipped_steps += skipped;
  const bool slowed =
      step.timed && device_->kind() == core::DeviceKind::cuda;  // by the events between kernels
  ladder_.add(slowed || disturbed_ || step.step_seconds <= 0 ? 0 : step.batch / step.step_seconds);
  copies_.before_point(step.step, publishing_.tally());
  publishing_.emit(Point{step.step, step.epoch, view_.seconds, Split::train, skipped, view_.last});
  const auto verdict = steering_.judge(settings(), step, view_.seconds);
  if (!verdict) return;
  Divergence divergence;
  divergence.id = view_.divergence.id;  // it has a number of its own once all of it is known
  divergence.step = step.step;
  divergence.text = describe(*verdict, step.step, step.loss);
  view_.divergence = divergence;
}

/// No feed is told of a step that is made again.
void Trainer::Worker::note_again(const StepResult& step) {
  LeftState& target = rewinding_->target;
  Progress& progress = target.progress;
  const bool scaled = view_.selection.precision == core::Precision::fp16;
  const bool skipped = scaled && step.skipped;
  progress.step = step.step;
  progress.epoch = step.epoch;
  progress.seconds += rewinding_->step_seconds;
  StepResult untimed = step;
  untimed.step_seconds = 0;
  progress.last = values_of(untimed, scaled, !target.settings->optimizer.per_sample, view_.classifies);
  progress.skipped_steps += skipped;
  target.tally.note(Point{step.step, step.epoch, progress.seconds, Split::train, skipped, progress.last});
  target.steering.judge(*target.settings, step, progress.seconds);
}

/// Pauses, or ends the run where nobody is there to go on, after looking where it began.
void Trainer::Worker::handle_divergence() {
  if (!steering_.take_pending()) return;
  steps_to_run_ = 0;
  drain();
  Divergence& divergence = view_.divergence;
  if (!steering_.loss_was_finite()) {
    if (const std::string where = first_not_finite(divergence.step - 1); !where.empty()) {
      divergence.text += "; " + where;
    } else if (!view_.ranks.empty()) {
      divergence.text += "; it does not begin in the part of rank 0";
    }
  }
  if (settings().pause_on_divergence) keep_what_was_before_divergence();
  ++divergence.id;
  const float last_rate = view_.last[Metric::learning_rate];
  const std::string why = fmt::format("{}; try a lower learning rate than {:g}", divergence.text,
                                      std::isnan(last_rate) ? settings().optimizer.learning_rate : last_rate);
  if (!settings().pause_on_divergence) throw core::Error(why);
  publishing_.tell(why, LogLevel::error);
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
  if (steering_.diverged() || rate_search_ || view_.state != TrainerState::running) return;
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
  const std::uint64_t next = steering_.last_evaluation() + steps;
  return view_.steps_planned > 0 ? std::min(next, view_.steps_planned) : next;
}

void Trainer::Worker::note_evaluation(const std::shared_ptr<const Evaluation>& evaluation) {
  steering_.note_evaluation(evaluation->step);
  collect(true);
  Point test{evaluation->step, evaluation->epoch, view_.seconds, evaluation->split};
  test[Metric::loss] = static_cast<float>(evaluation->loss);
  const Metric quality = view_.classifies ? Metric::accuracy : Metric::psnr;
  test[quality] = static_cast<float>(view_.classifies ? evaluation->accuracy : evaluation->psnr);
  if (evaluation->head) {
    test[Metric::head_loss] = static_cast<float>(evaluation->head_loss);
    test[Metric::head_accuracy] = static_cast<float>(evaluation->head_accuracy);
  }
  publishing_.emit(test);
  moments_.note_evaluation(*evaluation, test);
  // Running statistics of norms can be what is wrong: no training loss shows these.
  const bool was_finite = !view_.evaluation || std::isfinite(view_.evaluation->loss);
  if (!std::isfinite(evaluation->loss) && was_finite && !steering_.diverged()) {
    publishing_.log(
        LogLevel::warning,
        fmt::format("the {} loss of step {} is not finite ({}), unlike the training's: look for "
                    "numbers that are not among weights and running statistics",
                    to_string(evaluation->split), files::grouped(evaluation->step), evaluation->loss));
  }
  view_.evaluation = evaluation;
  if (evaluation->split != steering_split()) return;
  view_.last_test = test.values;
  if (const std::string change = steering_.judge(settings(), *evaluation); !change.empty()) mark(change);
  if (!steering_.is_best(*evaluation) || !keeper_->may_write_best()) return;
  steering_.note_best(*evaluation);
  moments_.note_best();
  write_checkpoint(true);
}

/// The held-out images by which the training is steered.
Split Trainer::Worker::steering_split() const {
  return data_->validation.count > 0 ? Split::validation : Split::test;
}

bool Trainer::Worker::limit_reached() const {
  return !steering_.stop_reason().empty() ||
         (view_.steps_planned > 0 && engine_->steps() >= view_.steps_planned);
}

bool Trainer::Worker::timing_due() {
  if (disturbed_) return false;
  const auto now = Clock::now();
  const bool on_cpu = device_->kind() == core::DeviceKind::cpu;
  const bool first_samples = engine_->timings().samples() < 5 && (on_cpu || engine_->steps() % 4 == 1);
  if (!first_samples && now - last_timing_ < (on_cpu ? kCpuTimingInterval : kTimingInterval)) return false;
  last_timing_ = now;
  return true;
}

}  // namespace warpscope::training
