#pragma once
// The ranks of a training: a lane each on one axis of time, what each of them contributes, and how fast their links
// are.

#include <span>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/ranks_rows.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class RanksPanel {
 public:
  static std::span<const Column> columns();
  /// Draws the rest of the title row of the panel that the caller has begun, and the body.
  void draw(const Frame& frame);

 private:
  void draw_choice(const Frame& frame);
  void trace(const RanksOfStep& ranks, const std::string& heading);

  int view_ = 0;  ///< the step or the links
  std::string traced_;
};

}  // namespace warpscope::ui
