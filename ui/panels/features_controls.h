#pragma once
// The settings of the Features panel: which layer, pooled or not, which classifier, C and gamma.

#include <string>

#include "ui/frame/frame.h"
#include "ui/jobs/features_controller.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

class FeaturesControls {
 public:
  /// A column `width` pixels wide. What is changed is judged again with the weights of the last result.
  void draw(const Frame& frame, FeaturesController& controller, ImVec2 size);

 private:
  bool draw_layer(const Frame& frame, FeaturesController& controller);
  bool draw_pooling(const Frame& frame, FeaturesController& controller);
  bool draw_beside(const Frame& frame, FeaturesController& controller);
  bool draw_classifier(const Frame& frame, FeaturesController& controller);
  bool draw_c(const Frame& frame, FeaturesController& controller);
  bool draw_gamma(const Frame& frame, FeaturesController& controller);

  ValueField c_, gamma_;
  std::string refusal_;
};

}  // namespace warpscope::ui
