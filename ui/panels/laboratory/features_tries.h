#pragma once
// All tries of this session: a table, and accuracy against the time of learning; a search over C and gamma as a heat
// map.

#include "ui/frame/frame.h"
#include "ui/jobs/features_controller.h"

namespace warpscope::ui {

class FeaturesTries {
 public:
  /// A click on a try takes its settings.
  void draw(const Frame& frame, FeaturesController& controller);

 private:
  void draw_table(const Frame& frame, FeaturesController& controller, ImVec2 size);

  TryColumn sorted_by_ = TryColumn::number;
  int view_ = 0;  ///< where there is no room for both
};

/// The body of the view: button, table of accuracies. A click on a cell takes its C and gamma and judges them.
void draw_features_grid(const Frame& frame, FeaturesController& controller);

}  // namespace warpscope::ui
