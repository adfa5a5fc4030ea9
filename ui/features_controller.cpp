#include "ui/features_controller.h"

#include <utility>

#include "ui/steering.h"

namespace warpscope::ui {

using features::DeskWork;

std::string FeaturesController::why_not(const Frame& frame) const {
  if (model_.layers.empty()) return "This version does not know the network of this run.";
  if (is_view(frame)) return viewed_.empty() ? "This run has no folder with checkpoints." : "";
  const auto& data = frame.snapshot.data;
  if (!data) return "The data are still being read.";
  if (data->classes.size() < 2 || data->train.labels.empty() || data->test.labels.empty())
    return "These images have no classes to be told apart.";
  return "";
}

void FeaturesController::update(const Frame& frame) {
  state_ = desk_.state();
  follow_epochs(frame);
  if (wanted_ == DeskWork::none || frame.request == nullptr) return;
  frame.request->weights = asked_;
  const auto& weights = frame.seen.weights;
  if (!weights || weights->number != asked_ || !frame.snapshot.data) return;
  features::Subject subject;
  subject.device = frame.snapshot.device.id();
  subject.model = model_;
  subject.precision = weights->selection.precision;
  subject.parameters = {weights, &weights->parameters};
  subject.step = weights->step;
  subject.data = frame.snapshot.data;
  start(std::exchange(wanted_, DeskWork::none), std::move(subject));
}

void FeaturesController::follow_epochs(const Frame& frame) {
  const auto epoch = static_cast<std::uint64_t>(frame.snapshot.epoch);
  const bool another = epoch > epoch_ && frame.snapshot.generation == generation_;
  epoch_ = epoch;
  generation_ = frame.snapshot.generation;
  if (each_epoch && another && !busy() && why_not(frame).empty()) judge(frame);
}

void FeaturesController::start(DeskWork work, features::Subject subject) {
  features::TrialRequest request;
  request.layers = layers_text(choice, model_);
  request.standardize = choice.standardize;
  request.judgement = judgement_of(choice);
  request.subject = std::move(subject);
  if (work == DeskWork::trial) {
    desk_.start_trial(std::move(request));
  } else {
    desk_.start_search({std::move(request), search_axes(choice.classifier)});
  }
  state_ = desk_.state();
}

void FeaturesController::want(const Frame& frame, DeskWork work) {
  if (!why_not(frame).empty()) return;
  if (is_view(frame)) {
    features::Subject subject;
    subject.run = viewed_;
    subject.device = "auto";
    return start(work, std::move(subject));
  }
  wanted_ = work;
  ++asked_;
}

void FeaturesController::judge(const Frame& frame) {
  want(frame, DeskWork::trial);
}

void FeaturesController::judge_again() {
  if (state_->result && !waits_for_weights()) start(DeskWork::trial, state_->result->subject);
}

void FeaturesController::search(const Frame& frame) {
  if (state_->result) return start(DeskWork::search, state_->result->subject);
  want(frame, DeskWork::search);
}

void FeaturesController::cancel() {
  wanted_ = DeskWork::none;
  desk_.cancel();
}

}  // namespace warpscope::ui
