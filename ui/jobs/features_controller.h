#pragma once
// The window's tries of classifiers on features: has the desk work on the network of a moment.

#include <cstdint>
#include <string>

#include "gpu/features/feature_desk.h"
#include "ui/frame/frame.h"
#include "ui/frame/frame_state.h"
#include "ui/jobs/subject_source.h"
#include "ui/panels/features_rows.h"

namespace warpscope::ui {

class FeaturesController {
 public:
  /// `source` outlives it.
  explicit FeaturesController(SubjectSource& source) : source_(source) {}

  /// Once a frame, before the panels: asks for weights, starts what waited for them, judges again after an epoch.
  void update(const Frame& frame);
  /// The newest state. References into it last until the next update().
  const features::DeskState& state() const { return *state_; }
  /// True if there is a newer state than the one that was drawn.
  bool has_update() const { return !state_.is(desk_.state()); }
  /// True while a job runs or waits for weights.
  bool busy() const {
    return wanted_ != features::DeskWork::none || state_->work != features::DeskWork::none;
  }
  bool waits_for_weights() const { return wanted_ != features::DeskWork::none; }
  /// Why nothing can be judged, in a sentence; "" if it can.
  std::string why_not(const Frame& frame) const;
  const models::Model& model() const { return source_.model(); }

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
  /// The network of the last result, if the layers that are chosen are of it; nullptr if there is none.
  const features::Subject* last_subject() const;
  void want(const Frame& frame, features::DeskWork work);
  void start(features::DeskWork work, features::Subject subject);
  void follow_epochs(const Frame& frame);

  SubjectSource& source_;
  features::FeatureDesk desk_;
  FrameState<features::DeskState> state_{desk_.state()};
  features::DeskWork wanted_ = features::DeskWork::none;  ///< that waits for weights
  std::uint64_t moment_ = 0;                              ///< of those
  std::uint64_t epoch_ = 0, generation_ = 0;
};

}  // namespace warpscope::ui
