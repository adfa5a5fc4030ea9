#pragma once
// The window's laboratory: starts its jobs for the panels, and pauses the training while something is timed.

#include <cstdint>
#include <functional>
#include <utility>

#include "gpu/models/model.h"
#include "gpu/profiling/laboratory.h"
#include "ui/frame/frame.h"
#include "ui/frame/frame_state.h"

namespace warpscope::ui {

class LaboratoryController {
 public:
  explicit LaboratoryController(models::Model model) : model_(std::move(model)) {}

  /// What is measured from the next job on.
  void follow(const models::Model& model) { model_ = model; }
  /// Once a frame, before the panels: takes the newest state, starts a job once the training has paused for
  /// it, and lets the training go on once the job has ended.
  void update(const Frame& frame);
  /// The newest state. References into it last until the next update().
  const profiling::LaboratoryState& state() const { return *state_; }
  /// True if there is a newer state than the one that was drawn.
  bool has_update() const { return !state_.is(laboratory_.state()); }
  /// True while a job runs or waits for the training to pause.
  bool busy() const { return waiting_ != profiling::Job::none || state_->running != profiling::Job::none; }
  /// The job that runs or waits.
  profiling::Job job() const { return waiting_ != profiling::Job::none ? waiting_ : state_->running; }
  /// The job that was started last: what LaboratoryState::failure and cancelled speak of.
  profiling::Job last_job() const { return last_; }
  /// Grows with each newer state, so that what was made of one can be kept.
  std::uint64_t version() const { return version_; }
  bool waits_for_pause() const { return waiting_ != profiling::Job::none; }
  /// True while the training runs beside a job that needs the device for itself.
  bool disturbed(const Frame& frame) const;

  // Each does nothing while busy().
  /// Times variants on the shapes of the training step, and whole steps as the training takes them. The training pauses
  /// meanwhile.
  void bench(const Frame& frame, profiling::BenchOptions options);
  /// The training goes on meanwhile.
  void verify(const Frame& frame, const verify::VerifyOptions& options);
  /// Times a training step with CPU loops. A training on the CPU pauses meanwhile.
  void baseline(const Frame& frame);
  void cancel(const Frame& frame);

 private:
  void take_state();
  void tell_trainer(const Frame& frame);
  void start_when_paused(const Frame& frame, profiling::Job job, std::function<bool()> start);

  models::Model model_;
  profiling::Laboratory laboratory_;
  FrameState<profiling::LaboratoryState> state_{laboratory_.state()};
  std::uint64_t version_ = 0;
  profiling::Job last_ = profiling::Job::none;
  profiling::Job waiting_ = profiling::Job::none;
  std::function<bool()> start_;  // of the waiting job
  bool alone_ = false;           // the running job has paused the training or found it paused
  bool told_ = false;            // the trainer, that a job runs
  bool resume_ = false;          // the training is to go on after the job
};

}  // namespace warpscope::ui
