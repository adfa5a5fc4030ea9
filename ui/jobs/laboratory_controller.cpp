#include "ui/jobs/laboratory_controller.h"

#include <utility>

#include "ui/panels/menu_choices.h"

namespace warpscope::ui {

using profiling::Job;
using training::TrainerState;

void LaboratoryController::take_state() {
  if (state_.take(laboratory_.state())) ++version_;
}

/// What the trainer measures while a job keeps the machine busy is not compared with what it measures else.
void LaboratoryController::tell_trainer(const Frame& frame) {
  const bool works = state_->running != Job::none;
  if (std::exchange(told_, works) != works) frame.send(training::SetDisturbed{works});
}

void LaboratoryController::update(const Frame& frame) {
  state_.begin_frame();
  tell_trainer(frame);
  if (disturbed(frame)) laboratory_.disturb();
  const TrainerState training = frame.snapshot.state;
  if (waiting_ != Job::none) {
    if (training == TrainerState::running || training == TrainerState::preparing) return;
    waiting_ = Job::none;
    std::exchange(start_, {})();
    take_state();
    return;
  }
  take_state();
  if (state_->running == Job::none) {
    alone_ = false;
    if (std::exchange(resume_, false) && training == TrainerState::paused) frame.send(training::Resume{});
  }
}

bool LaboratoryController::disturbed(const Frame& frame) const {
  return alone_ && waiting_ == Job::none && state_->running != Job::none &&
         frame.snapshot.state == TrainerState::running;
}

void LaboratoryController::start_when_paused(const Frame& frame, Job job, std::function<bool()> start) {
  waiting_ = last_ = job;
  start_ = std::move(start);
  alone_ = true;
  resume_ = frame.snapshot.state == TrainerState::running;
  if (resume_) frame.send(training::Pause{});
}

void LaboratoryController::bench(const Frame& frame, profiling::BenchOptions options) {
  if (busy()) return;
  const training::Snapshot& snapshot = frame.snapshot;
  start_when_paused(
      frame, Job::bench,
      [this, device = snapshot.device.id(), setup = step_setup(snapshot),
       model = step_model(model_, snapshot), present = snapshot.selection, options = std::move(options)] {
        return laboratory_.start_bench(device, model, setup, present, options);
      });
}

void LaboratoryController::verify(const Frame& frame, const verify::VerifyOptions& options) {
  if (busy()) return;
  last_ = Job::verify;
  laboratory_.start_verify(frame.snapshot.device.id(), options);
  take_state();
}

void LaboratoryController::baseline(const Frame& frame) {
  if (busy()) return;
  const auto start = [this, model = step_model(model_, frame.snapshot), setup = step_setup(frame.snapshot)] {
    return laboratory_.start_baseline(model, setup);
  };
  if (frame.snapshot.device.kind == core::DeviceKind::cpu) {
    start_when_paused(frame, Job::baseline, start);
    return;
  }
  last_ = Job::baseline;
  start();
  take_state();
}

void LaboratoryController::cancel(const Frame& frame) {
  if (waiting_ == Job::none) {
    laboratory_.cancel();
    return;
  }
  waiting_ = Job::none;
  start_ = {};
  alone_ = false;
  if (std::exchange(resume_, false)) frame.send(training::Resume{});
}

}  // namespace warpscope::ui
