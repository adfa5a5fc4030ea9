#pragma once
// The ranks of a training: a lane each on one axis of time, what each of them contributes, and how fast their links
// are; and where the time of the ranks of the last inference went.

#include <span>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/pictures/inference_view.h"
#include "ui/panels/training/ranks_rows.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class RanksPanel {
 public:
  static std::span<const Column> columns();
  /// Draws the rest of the title row of the panel that the caller has begun, and the body.
  void draw(const Frame& frame);
  /// Between frames: true if there is something new to draw. Never waits.
  bool advance() { return inference_.advance(); }

 private:
  void draw_choice(const Frame& frame);
  void draw_ranks(const Frame& frame, const RanksOfStep& ranks, const std::string& heading);
  void trace(const RanksOfStep& ranks, const std::string& heading);

  int view_ = 0;  ///< the step, the links or an inference
  InferenceView inference_;
  std::string traced_;
};

}  // namespace warpscope::ui
