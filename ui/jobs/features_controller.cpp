#include "ui/jobs/features_controller.h"

namespace warpscope::ui {

std::string why_no_features(const Frame& frame, const models::Model& model) {
  if (model.layers.empty()) return "This version does not know the network of this run.";
  if (frame.jobs == nullptr) return "This run has no folder with checkpoints.";
  return frame.snapshot.can.look_inside && !frame.snapshot.data ? "The data are still being read." : "";
}

std::string FeaturesController::why_not(const Frame& frame) const {
  std::string reason = why_no_features(frame, model_);
  if (!reason.empty() || !frame.snapshot.can.look_inside) return reason;
  const training::DataView& data = *frame.snapshot.data;
  if (data.classes.size() < 2 || data.train.labels.empty() || data.test.labels.empty())
    return "These images have no classes to be told apart.";
  return "";
}

void FeaturesController::update(const Frame& frame) {
  state_.begin_frame();
  jobs_ = frame.jobs;
  if (has_update()) state_.take(jobs_->states().features);
  follow_epochs(frame);
}

void FeaturesController::follow_epochs(const Frame& frame) {
  const auto epoch = static_cast<std::uint64_t>(frame.snapshot.epoch);
  const bool another = epoch > epoch_ && frame.snapshot.generation == generation_;
  epoch_ = epoch;
  generation_ = frame.snapshot.generation;
  if (each_epoch && another && !busy()) judge(frame);
}

void FeaturesController::ask(jobs::Request request) {
  if (jobs_ == nullptr) return;
  jobs_->ask(std::move(request));
  state_.take(jobs_->states().features);
}

jobs::Judge FeaturesController::judgement(bool again) const {
  return {layers_text(choice, model_), choice.standardize, judgement_of(choice), again};
}

void FeaturesController::judge(const Frame& frame) {
  if (why_not(frame).empty()) ask(judgement(false));
}

bool FeaturesController::has_last() const {
  return state_->result && state_->result->subject.model == model_;
}

void FeaturesController::judge_again() {
  if (has_last()) ask(judgement(true));
}

void FeaturesController::search(const Frame& frame) {
  if (has_last() || why_not(frame).empty())
    ask(jobs::Search{judgement(has_last()), search_axes(choice.classifier)});
}

void FeaturesController::cancel() {
  ask(jobs::Cancel{jobs::Desk::features});
}

}  // namespace warpscope::ui
