#pragma once
// The laboratory as panels see it and ask of it.

#include <cstdint>
#include <memory>
#include <utility>

#include "gpu/jobs/jobs.h"
#include "gpu/models/model.h"
#include "ui/frame/frame.h"
#include "ui/frame/frame_state.h"
#include "ui/panels/menu_choices.h"

namespace warpscope::ui {

class LaboratoryController {
 public:
  explicit LaboratoryController(models::Model model) : model_(std::move(model)) {}

  /// What is measured from the next job on.
  void follow(const models::Model& model) { model_ = model; }
  /// Once a frame, before the panels: takes the newest state.
  void update(const Frame& frame) {
    state_.begin_frame();
    jobs_ = frame.jobs;
    if (has_update() && state_.take(jobs_->states().laboratory)) ++version_;
  }
  /// The newest state. References into it last until the next update().
  const jobs::LaboratoryState& state() const { return *state_; }
  /// True if there is a newer state than the one that was drawn.
  bool has_update() const { return jobs_ != nullptr && !state_.is(jobs_->states().laboratory); }
  bool busy() const { return state_->running != jobs::Job::none; }
  /// Grows with each newer state, so that what was made of one can be kept.
  std::uint64_t version() const { return version_; }
  /// True while the training runs beside a job that needs the device for itself.
  bool disturbed(const Frame& frame) const {
    return busy() && state_->alone && !state_->waits &&
           frame.snapshot.state == training::TrainerState::running;
  }

  // Each does nothing while busy().
  void bench(const Frame& frame, profiling::BenchOptions options) {
    ask(jobs::Bench{scene(frame), std::move(options)});
  }
  /// The training goes on meanwhile.
  void verify(const verify::VerifyOptions& options) { ask(jobs::Verify{options}); }
  void baseline(const Frame& frame) { ask(jobs::Baseline{scene(frame)}); }
  void cancel() {
    if (jobs_ != nullptr) jobs_->ask(jobs::Cancel{jobs::Desk::laboratory});
  }

 private:
  jobs::StepScene scene(const Frame& frame) const {
    return {step_model(model_, frame.snapshot), step_setup(frame.snapshot), frame.snapshot.selection};
  }
  void ask(jobs::Request request) {
    if (busy() || jobs_ == nullptr) return;
    jobs_->ask(std::move(request));
    if (state_.take(jobs_->states().laboratory)) ++version_;
  }

  models::Model model_;
  jobs::Jobs* jobs_ = nullptr;
  FrameState<jobs::LaboratoryState> state_{std::make_shared<jobs::LaboratoryState>()};
  std::uint64_t version_ = 0;
};

}  // namespace warpscope::ui
