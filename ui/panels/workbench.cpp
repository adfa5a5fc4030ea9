#include "ui/panels/workbench.h"

#include <algorithm>
#include <vector>

#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

std::vector<const PanelRow*> rows() {
  std::vector<const PanelRow*> found;
  for (const PanelRow& row : panel_table()) {
    if (row.place == Place::workbench) found.push_back(&row);
  }
  return found;
}

// At the right end of the title row; the cursor then stands where it was.
bool size_button(const Frame& frame, bool large) {
  const float before = ImGui::GetCursorPosX();
  align_right(frame, ImGui::GetFrameHeight());
  const bool clicked =
      icon_button(frame, "tabs.large", large ? Icon::shrink : Icon::enlarge,
                  large ? "Back to the other panels (L)" : "Larger: over the other panels (L)");
  ImGui::SameLine(0, 0);
  ImGui::SetCursorPosX(before);
  return clicked;
}

}  // namespace

std::span<const char* const> Workbench::tabs() {
  static const std::vector<const char*> titles = [] {
    std::vector<const char*> list;
    for (const PanelRow* const row : rows()) list.push_back(row->title);
    return list;
  }();
  return titles;
}

void Workbench::show(std::string_view id) {
  const auto tabs = rows();
  const auto found = std::find(tabs.begin(), tabs.end(), find_panel(id));
  if (found != tabs.end()) tab_ = static_cast<int>(found - tabs.begin());
}

bool Workbench::shows(const PanelRow& row) const {
  return &row == rows()[static_cast<std::size_t>(tab_)];
}

void Workbench::draw(Panels& panels, const Frame& frame) {
  begin_tabbed_panel(frame, "tabs", tabs(), &tab_);
  if (size_button(frame, large_)) toggle_large();
  rows()[static_cast<std::size_t>(tab_)]->draw(panels, frame);
  end_panel();
}

}  // namespace warpscope::ui
