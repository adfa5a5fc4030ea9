#pragma once
// The lower left of the window: the kernels of the running step, the laboratory and earlier runs, as tabs of
// one panel that can take the whole window.

#include <span>
#include <string_view>

#include "ui/panels/panel_table.h"

namespace warpscope::ui {

class Workbench {
 public:
  void draw(Panels& panels, const Frame& frame);
  static std::span<const char* const> tabs();
  int tab() const { return tab_; }
  void show(int tab) { tab_ = tab; }
  /// The tab of that panel.
  void show(std::string_view id);
  /// True if it is this panel that is seen.
  bool shows(const PanelRow& row) const;
  /// True while it takes the room of the other panels.
  bool large() const { return large_; }
  void toggle_large() { large_ = !large_; }

 private:
  int tab_ = 0;
  bool large_ = false;
};

}  // namespace warpscope::ui
