#include "gpu/training/worker/collector.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

using std::chrono::milliseconds;

constexpr auto kFlushInterval = milliseconds(10);
constexpr auto kTimingInterval = milliseconds(250);
/// Where timing costs nothing: so that the newest samples are of a second and more, and not of one moment.
constexpr auto kCpuTimingInterval = milliseconds(50);

}  // namespace

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

void Collector::collect(bool flush) {
  if (flush) last_flush_ = Clock::now();
  const std::uint64_t timed = training_.engine->timings().added();
  for (const StepResult& step : training_.engine->collect_steps(flush)) note_step(step);
  if (training_.engine->timings().added() > timed)
    training_.ladder.add_times(training_.engine->timings().newest(1));
  if (training_.publishing.has_unsent()) training_.reporter.publish(false);
}

void Collector::collect_if_due() {
  collect(Clock::now() - last_flush_ > kFlushInterval);
}

void Collector::drain() {
  collect(true);
  training_.engine->synchronize();
  collect(false);
  training_.moments.settle_all();
}

void Collector::note_step(const StepResult& step) {
  training_.moments.kept().before_point(step.step, training_.steering, training_.view,
                                        training_.publishing.tally());
  if (step.step_seconds > 0) last_step_seconds_ = step.step_seconds;
  training_.view.seconds += step.step_seconds > 0
                                ? step.step_seconds
                                : training_.speeds.usual_seconds(step.batch, last_step_seconds_);
  training_.view.step = step.step;
  training_.view.epoch = step.epoch;
  // Where losses are not scaled a step is only left out because its loss is not finite, which is told otherwise. Where
  // each image updates by itself, no step has one gradient.
  const bool scaled = training_.view.selection.precision == core::Precision::fp16;
  const bool skipped = scaled && step.skipped;
  training_.view.last =
      values_of(step, scaled, !training_.settings().optimizer.per_sample, training_.view.classifies);
  training_.speeds.add(training_.view.seconds,
                       static_cast<double>(training_.view.last[Metric::images_per_second]));
  training_.view.skipped_steps += skipped;
  const bool slowed =
      step.timed && training_.device->kind() == core::DeviceKind::cuda;  // by the events between kernels
  training_.ladder.add(
      slowed || training_.is_disturbed() || step.step_seconds <= 0 ? 0 : step.batch / step.step_seconds);
  training_.trainings.before_point(step.step);
  training_.publishing.emit(
      Point{step.step, step.epoch, training_.view.seconds, Split::train, skipped, training_.view.last});
  const auto verdict = training_.steering.judge(training_.settings(), step, training_.view.seconds);
  if (!verdict) return;
  Divergence divergence;
  divergence.id = training_.view.divergence.id;  // it has a number of its own once all of it is known
  divergence.step = step.step;
  divergence.text = describe(*verdict, step.step, step.loss);
  training_.view.divergence = divergence;
}

void Collector::handle_divergence() {
  if (!training_.steering.take_pending()) return;
  training_.stepping.forget_single_steps();
  drain();
  Divergence& divergence = training_.view.divergence;
  if (!training_.steering.loss_was_finite()) {
    if (const std::string where = first_not_finite(divergence.step - 1); !where.empty()) {
      divergence.text += "; " + where;
    } else if (!training_.view.ranks.empty()) {
      divergence.text += "; it does not begin in the part of rank 0";
    }
  }
  if (training_.settings().pause_on_divergence) training_.trainings.keep_what_was_before_divergence();
  ++divergence.id;
  const float last_rate = training_.view.last[Metric::learning_rate];
  const std::string why =
      fmt::format("{}; try a lower learning rate than {:g}", divergence.text,
                  std::isnan(last_rate) ? training_.settings().optimizer.learning_rate : last_rate);
  if (!training_.settings().pause_on_divergence) throw core::Error(why);
  training_.publishing.tell(why, LogLevel::error);
  if (training_.view.state == TrainerState::running) training_.reporter.set_state(TrainerState::paused);
}

/// "conv3 (conv2d.forward of conv3) has 12 numbers that are not finite", or "".
std::string Collector::first_not_finite(std::uint64_t step) const {
  try {
    const NotFinite found = training_.engine->find_not_finite(step);
    if (found.tensor.empty()) return "";
    const std::string made_by = found.op.empty() ? "" : fmt::format(" made by {}", found.op);
    const std::string layer = found.layer.empty() ? "" : fmt::format(" in layer {}", found.layer);
    return fmt::format("it begins in tensor {}{}{}: {} of its numbers are not finite", found.tensor, made_by,
                       layer, found.count);
  } catch (const core::OutOfMemory& error) {
    return fmt::format("where it begins is not known: {}", error.what());
  }
}

bool Collector::timing_due() {
  if (training_.is_disturbed()) return false;
  const auto now = Clock::now();
  const bool on_cpu = training_.device->kind() == core::DeviceKind::cpu;
  const bool first_samples =
      training_.engine->timings().samples() < 5 && (on_cpu || training_.engine->steps() % 4 == 1);
  if (!first_samples && now - last_timing_ < (on_cpu ? kCpuTimingInterval : kTimingInterval)) return false;
  last_timing_ = now;
  return true;
}

}  // namespace warpscope::training
