#pragma once
// What panels see of a desk's jobs and ask of it: what the controllers of all desks have in common.

#include <memory>
#include <string>
#include <utility>

#include "gpu/jobs/jobs.h"
#include "gpu/models/model.h"
#include "ui/frame/frame.h"
#include "ui/frame/frame_state.h"

namespace warpscope::ui {

/// A line of figures of a result: "iterations", "1,000", "of 1,000".
struct JobFigure {
  std::string label, value, unit, tip;
};

/// `kPart` is where jobs::States has the desk's state.
template <class State, std::shared_ptr<const State> jobs::States::*kPart>
class DeskView {
 public:
  explicit DeskView(models::Model model) : model_(std::move(model)) {}

  /// The network of the next jobs.
  void follow(const models::Model& model) { model_ = model; }
  const models::Model& model() const { return model_; }
  /// The newest state. References into it last until the next frame's update().
  const State& state() const { return *state_; }
  /// True if there is a newer state than the one that was drawn.
  bool has_update() const { return jobs_ != nullptr && !state_.is(jobs_->states().*kPart); }

 protected:
  /// Once a frame, before the panels: takes the newest state. True if it is another one.
  bool begin_frame(const Frame& frame) {
    state_.begin_frame();
    jobs_ = frame.jobs;
    return jobs_ != nullptr && state_.take(jobs_->states().*kPart);
  }
  /// True if the state is another one then.
  bool ask(jobs::Request request) {
    if (jobs_ == nullptr) return false;
    jobs_->ask(std::move(request));
    return state_.take(jobs_->states().*kPart);
  }

 private:
  models::Model model_;
  jobs::Jobs* jobs_ = nullptr;
  FrameState<State> state_{std::make_shared<State>()};
};

}  // namespace warpscope::ui
