#include "ui/jobs/features_controller.h"

#include <utility>

#include "ui/settings/steering.h"

namespace warpscope::ui {

using features::DeskWork;

std::string FeaturesController::why_not(const Frame& frame) const {
  std::string reason = source_.why_not(frame);
  if (!reason.empty() || is_view(frame)) return reason;
  const data::DataSet& data = *frame.snapshot.data;
  if (data.classes.size() < 2 || data.train.labels.empty() || data.test.labels.empty())
    return "These images have no classes to be told apart.";
  return "";
}

void FeaturesController::update(const Frame& frame) {
  state_.begin_frame();
  state_.take(desk_.state());
  follow_epochs(frame);
  if (wanted_ == DeskWork::none) return;
  auto subject = source_.subject(frame, moment_);
  if (subject) start(std::exchange(wanted_, DeskWork::none), std::move(*subject));
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
  request.layers = layers_text(choice, model());
  request.standardize = choice.standardize;
  request.judgement = judgement_of(choice);
  request.subject = std::move(subject);
  if (work == DeskWork::trial) {
    desk_.start_trial(std::move(request));
  } else {
    desk_.start_search({std::move(request), search_axes(choice.classifier)});
  }
  state_.take(desk_.state());
}

void FeaturesController::want(const Frame& frame, DeskWork work) {
  if (!why_not(frame).empty()) return;
  moment_ = source_.now();
  if (auto subject = source_.subject(frame, moment_)) return start(work, std::move(*subject));
  wanted_ = work;
}

void FeaturesController::judge(const Frame& frame) {
  want(frame, DeskWork::trial);
}

const features::Subject* FeaturesController::last_subject() const {
  return state_->result && state_->result->subject.model == model() ? &state_->result->subject : nullptr;
}

void FeaturesController::judge_again() {
  const features::Subject* const subject = last_subject();
  if (subject != nullptr && !waits_for_weights()) start(DeskWork::trial, *subject);
}

void FeaturesController::search(const Frame& frame) {
  if (const auto* const subject = last_subject()) return start(DeskWork::search, *subject);
  want(frame, DeskWork::search);
}

void FeaturesController::cancel() {
  wanted_ = DeskWork::none;
  desk_.cancel();
}

}  // namespace warpscope::ui
