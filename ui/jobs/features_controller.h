#pragma once
// Tries of classifiers on features, as panels see them and ask for them.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "gpu/jobs/jobs.h"
#include "ui/frame/frame.h"
#include "ui/frame/frame_state.h"
#include "ui/panels/features_rows.h"

namespace warpscope::ui {

/// Why jobs cannot work on the network of the training, in a sentence; "" if they can.
std::string why_no_features(const Frame& frame, const models::Model& model);

class FeaturesController {
 public:
  explicit FeaturesController(models::Model model) : model_(std::move(model)) {}

  void follow(const models::Model& model) { model_ = model; }
  /// Once a frame, before the panels: takes the newest state, and judges again after an epoch.
  void update(const Frame& frame);
  /// The newest state. References into it last until the next update().
  const features::DeskState& state() const { return *state_; }
  /// True if there is a newer state than the one that was drawn.
  bool has_update() const { return jobs_ != nullptr && !state_.is(jobs_->states().features); }
  bool busy() const { return state_->work != features::DeskWork::none; }
  /// Why nothing can be judged, in a sentence; "" if it can.
  std::string why_not(const Frame& frame) const;
  const models::Model& model() const { return model_; }

  /// With the weights of this moment.
  void judge(const Frame& frame);
  /// With the weights of the last result, where there is one: what a slider that was let go asks for.
  void judge_again();
  /// Over C and gamma, with the weights of the last result or, without one, of this moment.
  void search(const Frame& frame);
  void cancel();

  FeatureChoice choice;
  bool each_epoch = false;

 private:
  /// True if the last result is of the network whose layers are chosen.
  bool has_last() const;
  jobs::Judge judgement(bool again) const;
  void ask(jobs::Request request);
  void follow_epochs(const Frame& frame);

  models::Model model_;
  jobs::Jobs* jobs_ = nullptr;
  FrameState<features::DeskState> state_{std::make_shared<features::DeskState>()};
  std::uint64_t epoch_ = 0, generation_ = 0;
};

}  // namespace warpscope::ui
