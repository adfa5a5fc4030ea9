#pragma once
// The menu of the window itself, under a button of the toolbar: panels, themes, sizes. Its rows are actions of the
// palette; a click on one leaves the menu open, so that several can be tried; the tour and the start page close it.

#include <vector>

#include "ui/frame/frame.h"
#include "ui/palette/actions.h"

namespace warpscope::ui {

class WindowMenu {
 public:
  bool is_open() const { return open_; }
  void open() { open_ = wants_ = true; }
  /// While it is open: each group of actions under its name.
  void draw(const Frame& frame, const std::vector<Action>& actions);

 private:
  void draw_row(const Frame& frame, const Action& action) const;

  bool open_ = false;
  bool wants_ = false;  ///< to be opened by the next draw()
};

}  // namespace warpscope::ui
