#pragma once
// Optimizer, learning rate and batch, which can be changed while it trains, and the results so far.

#include <string>

#include "ui/frame.h"
#include "ui/panels/loss_history.h"

namespace warpscope::ui {

class TrainingPanel {
 public:
  void draw(const Frame& frame, const LossHistory& history);

 private:
  /// A value that a person edits: it shows the trainer's until it is touched, and the sent one until the
  /// trainer has it.
  struct Edit {
    std::string text;
    bool active = false;
    double hold_until = 0;  ///< ImGui time
  };

  void draw_learning_rate(const Frame& frame, float left);
  void draw_batch(const Frame& frame, float left);
  bool input(const Frame& frame, const char* name, Edit& edit, const std::string& current, float width,
             std::string_view tip);

  Edit rate_edit_;
  Edit batch_edit_;
  float rate_ = 0.1f;
  bool rate_dragged_ = false;
  double rate_hold_until_ = 0;
  std::string refusal_;  ///< why the last text was not taken
};

}  // namespace warpscope::ui
