#include "ui/panels/window_menu.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kMenuWidth = 300;

// A tick of the height of small letters.
void draw_tick(const Frame& frame, float left, float middle) {
  const float s = frame.scale;
  const ImVec2 stroke[3] = {ImVec2(left, middle), ImVec2(left + 3 * s, middle + 3 * s),
                            ImVec2(left + 9 * s, middle - 4 * s)};
  ImGui::GetWindowDrawList()->AddPolyline(stroke, 3, frame.palette.accent, 0, std::max(1.0f, 1.6f * s));
}

}  // namespace

void WindowMenu::draw_row(const Frame& frame, const Action& action) const {
  const float s = frame.scale;
  ImGui::BeginDisabled(!action.why_not.empty() && action.note != "now");
  const std::string id = "window." + action.id;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = ImGui::GetFrameHeight();
  const bool clicked = hit_area(id.c_str(), ImVec2(width, height));
  trace_item(id);
  tooltip(frame, action.why_not);
  auto* const list = ImGui::GetWindowDrawList();
  if (ImGui::IsItemHovered())
    list->AddRectFilled(at, ImVec2(at.x + width, at.y + height), frame.palette.control_hovered, 3 * s);
  const bool now = action.note == "now";
  if (now) draw_tick(frame, at.x + 6 * s, at.y + height / 2);
  const ImU32 color =
      ImGui::GetColorU32(action.why_not.empty() || now ? ImGuiCol_Text : ImGuiCol_TextDisabled);
  const float baseline = row_baseline(frame, at.y);
  const std::string note = now ? action.keys : action.keys.empty() ? action.note : action.keys;
  const float note_width = text_width(frame.fonts.small, note);
  draw_text(list, frame.fonts.text, at.x + 24 * s, baseline, color,
            ellipsize(frame.fonts.text, action.title, width - note_width - 40 * s));
  draw_text(list, frame.fonts.small, at.x + width - note_width - 6 * s, baseline, frame.palette.muted, note);
  ImGui::EndDisabled();
  if (!clicked) return;
  action.run();
  // What these show lies below the menu.
  if (action.group == "Help" || action.group == "Training") ImGui::CloseCurrentPopup();
}

void WindowMenu::draw(const Frame& frame, const std::vector<Action>& actions) {
  const float s = frame.scale;
  if (std::exchange(wants_, false)) ImGui::OpenPopup("window.menu");
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float top = std::floor(42 * s), width = std::floor(kMenuWidth * s);
  ImGui::SetNextWindowPos(ImVec2(display.x - width - 6 * s, top));
  ImGui::SetNextWindowSizeConstraints(ImVec2(width, 0), ImVec2(width, display.y - top - 8 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(8 * s, 8 * s));
  const bool visible = ImGui::BeginPopup("window.menu", ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoNav);
  ImGui::PopStyleVar();
  if (!visible) {
    open_ = false;
    return;
  }
  trace_open_list("window.menu");
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  std::string group;
  for (const Action& action : actions) {
    if (action.group != group) {
      if (!group.empty()) ImGui::Dummy(ImVec2(1, 6 * s));
      group = action.group;
      caption(frame, group);
    }
    draw_row(frame, action);
  }
  ImGui::PopStyleVar();
  ImGui::EndPopup();
}

}  // namespace warpscope::ui
