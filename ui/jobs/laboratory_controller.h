#pragma once
// The laboratory as panels see it and ask of it.

#include <cstdint>
#include <utility>

#include "ui/jobs/desk_view.h"
#include "ui/panels/menu_choices.h"

namespace warpscope::ui {

class LaboratoryController : public DeskView<jobs::LaboratoryState, &jobs::States::laboratory> {
 public:
  using DeskView::DeskView;

  /// Once a frame, before the panels: takes the newest state.
  void update(const Frame& frame) { version_ += begin_frame(frame) ? 1 : 0; }
  bool busy() const { return state().running != jobs::Job::none; }
  /// Grows with each newer state, so that what was made of one can be kept.
  std::uint64_t version() const { return version_; }
  /// True while the training runs beside a job that needs the device for itself.
  bool disturbed(const Frame& frame) const {
    return busy() && state().alone && !state().waits &&
           frame.snapshot.state == training::TrainerState::running;
  }

  // Each does nothing while busy().
  void bench(const Frame& frame, profiling::BenchOptions options) {
    start(jobs::Bench{scene(frame), std::move(options)});
  }
  /// The training goes on meanwhile.
  void verify(const verify::VerifyOptions& options) { start(jobs::Verify{options}); }
  void baseline(const Frame& frame) { start(jobs::Baseline{scene(frame)}); }
  void cancel() { version_ += ask(jobs::Cancel{jobs::Desk::laboratory}) ? 1 : 0; }

 private:
  jobs::StepScene scene(const Frame& frame) const {
    return {step_model(model(), frame.snapshot), step_setup(frame.snapshot), frame.snapshot.selection};
  }
  void start(jobs::Request request) {
    if (!busy() && ask(std::move(request))) ++version_;
  }

  std::uint64_t version_ = 0;
};

}  // namespace warpscope::ui
