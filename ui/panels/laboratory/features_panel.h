#pragma once
// The Features panel: what a classifier makes of the features of a layer, while it trains.

#include <memory>
#include <string>

#include "ui/frame/frame.h"
#include "ui/jobs/features_controller.h"
#include "ui/panels/laboratory/features_pictures.h"
#include "ui/panels/laboratory/features_tries.h"
#include "ui/panels/pictures/confusion_matrix.h"
#include "ui/panels/pictures/held_out.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

/// Which layer, pooled or not, which classifier, C and gamma.
class FeaturesControls {
 public:
  /// A column `width` pixels wide. What is changed is judged again with the weights of the last result.
  void draw(const Frame& frame, FeaturesController& controller, ImVec2 size);

 private:
  bool draw_pooling(const Frame& frame, FeaturesController& controller);
  bool draw_c(const Frame& frame, FeaturesController& controller);
  bool draw_gamma(const Frame& frame, FeaturesController& controller);

  ValueField c_, gamma_;
  std::string refusal_;
};

class FeaturesPanel {
 public:
  void draw(const Frame& frame, FeaturesController& controller);
  /// Frees the textures; called before the context goes.
  void shutdown();

 private:
  void draw_actions(const Frame& frame, FeaturesController& controller, bool narrow);
  void draw_view(const Frame& frame, FeaturesController& controller);
  void draw_result(const Frame& frame, const features::TrialResult& result);
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
