#pragma once
// All tries of this session: a table, and accuracy against the time of learning.

#include "ui/frame/frame.h"
#include "ui/jobs/features_controller.h"

namespace warpscope::ui {

class FeaturesTries {
 public:
  /// A click on a try takes its settings.
  void draw(const Frame& frame, FeaturesController& controller);

 private:
  void draw_table(const Frame& frame, FeaturesController& controller, ImVec2 size);
  void draw_points(const Frame& frame, FeaturesController& controller, ImVec2 size) const;

  TryColumn sorted_by_ = TryColumn::number;
  int view_ = 0;  ///< where there is no room for both
};

}  // namespace warpscope::ui
