#pragma once
// Draws the panels where a docking has them, and changes the docking by mouse: gaps are dragged, tabs and titles are
// dragged to other places, floating panels are moved and resized.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ui/docking/docking.h"
#include "ui/panels/panel_table.h"

namespace warpscope::ui {

class DockView {
 public:
  /// What is drawn; anybody may change it between frames.
  Docking docking;

  /// Draws all panels that are seen, in `room` pixels of the window.
  void draw(const Frame& frame, Panels& panels, const Area& room);

  /// Opens the panel if it is closed, and brings it to the front.
  void show(std::string_view panel);
  void close(std::string_view panel);
  /// Floats a docked panel, docks a floating one.
  void toggle_floating(std::string_view panel);
  /// True if it is drawn.
  bool sees(std::string_view panel) const;
  /// Where it was drawn last, in pixels of the window; nothing if it is not seen.
  std::optional<Area> area_of(std::string_view panel) const;

  /// The panel that was clicked on last.
  const std::string& current() const { return current_; }
  /// True while one panel, with the tabs beside it, has the room of all.
  bool large() const { return !large_.empty(); }
  /// Makes the current panel large, or all as before.
  void toggle_large() { toggle_large(current_); }
  /// A panel that is being dragged stays where it was.
  void cancel_drag() { dragged_.clear(); }

 private:
  void toggle_large(const std::string& panel);
  void watch(const Frame& frame, Panels& panels) const;
  Placement placed(const Frame& frame) const;
  void draw_leaf(const Frame& frame, Panels& panels, const PlacedLeaf& leaf);
  void draw_floating(const Frame& frame, Panels& panels, FloatingPanel& floating);
  void draw_head(const Frame& frame, const DockNode& leaf);
  void draw_tabs(const Frame& frame, const DockNode& leaf);
  void draw_tab(const Frame& frame, const std::string& panel, bool active);
  void draw_size_button(const Frame& frame, const std::string& panel);
  void draw_body(const Frame& frame, Panels& panels, const std::string& panel, bool tabbed);
  void handle_title(const Frame& frame, const std::string& panel, bool floats);
  void draw_between(const Frame& frame, const Placement& placement);
  void draw_gap(const Frame& frame, const PlacedGap& gap);
  void draw_menu(const Frame& frame);
  void drag(const Frame& frame, const Placement& placement);
  void drop(const Placement& placement, float title);
  void trace();

  Area room_;
  std::vector<PlacedTab> tabs_;                      ///< of leaves with several panels, in this frame
  std::map<std::string, Area, std::less<>> areas_;   ///< of the panels that are seen
  std::map<std::string, Area, std::less<>> floats_;  ///< where floating windows were put last
  std::string current_ = "kernels", large_, dragged_, pressed_, menu_panel_;
  bool wants_menu_ = false;
  std::function<void()> change_;  ///< of the docking, once all panels are drawn
  std::string traced_;
};

}  // namespace warpscope::ui
