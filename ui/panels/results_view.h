#pragma once
// The "Results" tab: how the training stands.

#include "ui/frame/frame.h"
#include "ui/panels/results_rows.h"

namespace warpscope::ui {

class ResultsView {
 public:
  /// To be called each frame, also while another tab is shown: it notices when a checkpoint is written.
  void update(const Frame& frame);
  void draw(const Frame& frame) const;

 private:
  LastCheckpoint checkpoint_;
  bool first_ = true;
};

}  // namespace warpscope::ui
