#pragma once
// The Features panel: what a classifier makes of the features of a layer, while it trains.

#include <memory>
#include <string>

#include "ui/frame/frame.h"
#include "ui/jobs/features_controller.h"
#include "ui/panels/confusion_matrix.h"
#include "ui/panels/features_controls.h"
#include "ui/panels/features_pictures.h"
#include "ui/panels/features_tries.h"
#include "ui/panels/held_out.h"

namespace warpscope::ui {

class FeaturesPanel {
 public:
  void draw(const Frame& frame, FeaturesController& controller);
  /// Frees the textures; called before the context goes.
  void shutdown();

 private:
  void draw_actions(const Frame& frame, FeaturesController& controller, bool narrow);
  void draw_progress(const Frame& frame, const FeaturesController& controller) const;
  void draw_view(const Frame& frame, FeaturesController& controller);
  void draw_result(const Frame& frame, const features::TrialResult& result);
  void draw_figures(const Frame& frame, const features::TrialResult& result, float width) const;
  void draw_classes(const Frame& frame, const features::TrialResult& result) const;
  void trace(const Frame& frame, const FeaturesController& controller);

  int view_ = 1;  ///< 0: the settings, where they have no column of their own
  bool narrow_ = false;
  FeaturesControls controls_;
  FeaturesPictures pictures_;
  FeaturesTries tries_;
  ConfusionMatrix matrix_;
  std::shared_ptr<const features::TrialResult> shown_;  ///< of which `held_out_` was made
  HeldOut held_out_;
  std::string traced_;
};

}  // namespace warpscope::ui
