#include "ui/docking/dock_view.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "ui/docking/layout.h"
#include "ui/docking/layouts.h"
#include "ui/frame/frame_phases.h"
#include "ui/frame/kept_views.h"
#include "ui/panels/curves/rewind_menu.h"
#include "ui/text/terms.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kDragPixels = 6;  // the pointer moves so far before a title is dragged: design pixels
constexpr float kFloatWidth = 0.4f, kFloatHeight = 0.45f;  // of the room, at first

const Docking& standard_layout() {
  return *find_layout(built_in_layouts().front().id, {});
}

Area in_pixels(const Area& parts, const Area& room) {
  return {std::round(room.x + parts.x * room.w), std::round(room.y + parts.y * room.h),
          std::round(parts.w * room.w), std::round(parts.h * room.h)};
}

Area in_parts(const Area& pixels, const Area& room) {
  return {(pixels.x - room.x) / room.w, (pixels.y - room.y) / room.h, pixels.w / room.w, pixels.h / room.h};
}

const char* title_of(const std::string& panel) {
  const PanelRow* const row = find_panel(panel);
  return row == nullptr ? "" : row->title;
}

ImVec2 corner(const Area& area) {
  return {area.x, area.y};
}

/// In the lower right corner, over what is there.
void draw_step_note(const Frame& frame, const std::string& line) {
  const float s = frame.scale;
  const ImVec2 at = ImGui::GetWindowPos(), room = ImGui::GetWindowSize();
  const std::string text = ellipsize(frame.fonts.small, line, room.x - 24 * s);
  const ImVec2 size(text_width(frame.fonts.small, text) + 12 * s, std::floor(20 * s));
  const ImVec2 min(std::floor(at.x + room.x - size.x - 4 * s), std::floor(at.y + room.y - size.y - 4 * s));
  ImGui::SetCursorScreenPos(min);
  ImGui::BeginChild("step note", size, false,
                    ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoScrollbar);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(min, ImVec2(min.x + size.x, min.y + size.y), frame.palette.popup, 4 * s);
  draw_text(list, frame.fonts.small, min.x + 6 * s, min.y + std::floor(14 * s), frame.palette.accent, text);
  ImGui::EndChild();
}

ImVec2 far_corner(const Area& area) {
  return {area.right(), area.bottom()};
}

}  // namespace

// --- what is asked of it

void DockView::show(std::string_view panel) {
  if (find_panel(panel) == nullptr) return;
  if (!is_floating(docking, panel)) open_panel(docking, panel, standard_layout());
  current_ = panel;
  if (large_.empty()) return;
  const DockNode* const leaf = leaf_of(docking, large_);
  if (leaf == nullptr || leaf != leaf_of(docking, panel)) large_.clear();
}

void DockView::close(std::string_view panel) {
  close_panel(docking, panel);
}

void DockView::toggle_floating(std::string_view panel) {
  if (is_floating(docking, panel)) return open_panel(docking, panel, standard_layout());
  const auto before = area_of(panel);
  Area place{(1 - kFloatWidth) / 2, (1 - kFloatHeight) / 2, kFloatWidth, kFloatHeight};
  if (before && room_.w > 0) {
    // As large as it was, a little off its old place, so that one sees that it floats.
    place = in_parts(*before, room_);
    place.x += 0.02f;
    place.y += 0.02f;
    place.w = std::min(place.w, 0.7f);
    place.h = std::min(place.h, 0.7f);
  }
  float_panel(docking, panel, place);
}

bool DockView::sees(std::string_view panel) const {
  if (!is_in_front(docking, panel)) return false;
  if (large_.empty()) return true;
  const DockNode* const leaf = leaf_of(docking, large_);
  return leaf != nullptr ? leaf == leaf_of(docking, panel) : panel == large_;
}

std::optional<Area> DockView::area_of(std::string_view panel) const {
  const auto found = areas_.find(panel);
  return found == areas_.end() ? std::nullopt : std::optional(found->second);
}

void DockView::toggle_large(const std::string& panel) {
  large_ = large_.empty() && is_open(docking, panel) ? panel : std::string();
}

// --- a frame

void DockView::watch(const Frame& frame, Panels& panels) const {
  for (const PanelRow& row : panel_table()) {
    if (row.watch != nullptr) row.watch(panels, frame, sees(row.id));
  }
}

Placement DockView::placed(const Frame& frame) const {
  const float s = frame.scale;
  const auto least = [s](std::string_view panel) {
    const PanelRow* const row = find_panel(panel);
    return row == nullptr ? AreaSize{} : AreaSize{row->least_width * s, row->least_height * s};
  };
  return place(docking.root, room_, std::floor(kPanelGap * s), least);
}

void DockView::draw(const Frame& frame, Panels& panels, const Area& room) {
  room_ = room;
  if (!is_open(docking, large_)) large_.clear();
  areas_.clear();
  tabs_.clear();
  std::erase_if(floats_, [this](const auto& entry) { return !is_floating(docking, entry.first); });
  watch(frame, panels);
  const Placement placement = placed(frame);
  for (const PlacedLeaf& leaf : placement.leaves) {
    const std::string& front = leaf.leaf->panels[leaf.leaf->active];
    if (sees(front)) draw_leaf(frame, panels, large() ? PlacedLeaf{leaf.leaf, room} : leaf);
  }
  for (FloatingPanel& floating : docking.floating) {
    if (sees(floating.panel)) draw_floating(frame, panels, floating);
  }
  draw_between(frame, placement);
  draw_menu(frame);
  drag(frame, placement);
  if (change_) {
    std::exchange(change_, nullptr)();
    redraw_at(frame, ImGui::GetTime());
  }
  trace();
}

// Between the panels: gaps, and what is there if there are none. Each gap is a window of its own, so that none lies
// over a panel.
void DockView::draw_between(const Frame& frame, const Placement& placement) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1, 1));
  constexpr ImGuiWindowFlags kFlags =
      kStillWindow | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoBringToFrontOnFocus;
  if (!large()) {
    for (const PlacedGap& gap : placement.gaps) {
      place_next_window(gap.area);
      ImGui::Begin(("gap." + gap.path).c_str(), nullptr, kFlags);
      draw_gap(frame, gap);
      ImGui::End();
    }
  }
  if (placement.leaves.empty()) {
    place_next_window(room_);
    ImGui::Begin("no panels", nullptr, kFlags);
    centered_text(frame,
                  "No panel is docked. The window's menu, at the right end of the toolbar, opens them.");
    ImGui::End();
  }
  ImGui::PopStyleVar(3);
}

void DockView::draw_gap(const Frame& frame, const PlacedGap& gap) {
  const std::string name = "splitter." + gap.path;
  const bool columns = gap.cut == Cut::columns;
  ImGui::SetCursorScreenPos(corner(gap.area));
  hit_area(name.c_str(), ImVec2(gap.area.w, gap.area.h));
  trace_item(name);
  const bool active = ImGui::IsItemActive(), hovered = ImGui::IsItemHovered();
  DockNode* const cut = cut_at(docking.root, gap.path);
  if (cut == nullptr || (!active && !hovered)) return;
  ImGui::SetMouseCursor(columns ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
  if (ImGui::IsItemActivated())
    cut->part = gap.first / gap.room;  // what is shown may be limited by least sizes
  if (active) {
    const ImVec2 delta = ImGui::GetIO().MouseDelta;
    cut->part = std::clamp(cut->part + (columns ? delta.x : delta.y) / gap.room, 0.0f, 1.0f);
  }
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
    cut->part = usual_part(docking, gap.path);
  const float inset = std::floor((kPanelGap - 2) / 2 * frame.scale);
  const ImVec2 in = columns ? ImVec2(inset, 0) : ImVec2(0, inset);
  ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(gap.area.x + in.x, gap.area.y + in.y),
                                            ImVec2(gap.area.right() - in.x, gap.area.bottom() - in.y),
                                            frame.palette.accent, frame.scale);
}

// --- panels

void DockView::draw_leaf(const Frame& frame, Panels& panels, const PlacedLeaf& leaf) {
  const std::string panel = leaf.leaf->panels[leaf.leaf->active];
  place_next_window(leaf.area);
  areas_[panel] = leaf.area;
  begin_panel(frame, panel.c_str());
  draw_head(frame, *leaf.leaf);
  draw_body(frame, panels, panel, leaf.leaf->panels.size() > 1);
  handle_title(frame, panel, false);
  end_panel();
}

// ImGui moves and resizes the window; where it is then is read back.
void DockView::draw_floating(const Frame& frame, Panels& panels, FloatingPanel& floating) {
  const std::string& panel = floating.panel;
  const Area wanted = large() ? room_ : in_pixels(floating.place, room_);
  const auto put = floats_.find(panel);
  if (put == floats_.end()) ImGui::SetNextWindowFocus();
  if (put == floats_.end() || !(put->second == wanted)) place_next_window(wanted);
  const PanelRow* const row = find_panel(panel);
  ImGui::SetNextWindowSizeConstraints(ImVec2(std::min(row->least_width * frame.scale, room_.w),
                                             std::min(row->least_height * frame.scale, room_.h)),
                                      ImVec2(room_.w, room_.h));
  begin_panel(frame, panel.c_str(), true);
  const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  const Area now{at.x, at.y, size.x, size.y};
  if (!large() && !(now == wanted)) {
    floating.place = in_parts(now, room_);
    floating.place.w = std::clamp(floating.place.w, 0.05f, 1.0f);
    floating.place.h = std::clamp(floating.place.h, 0.05f, 1.0f);
    floating.place.x = std::clamp(floating.place.x, 0.0f, 1 - floating.place.w);
    floating.place.y = std::clamp(floating.place.y, 0.0f, 1 - floating.place.h);
  }
  floats_[panel] = large() ? wanted : now;
  areas_[panel] = now;
  draw_tab(frame, panel, true);
  ImGui::SameLine(0, 16 * frame.scale);
  draw_size_button(frame, panel);
  draw_body(frame, panels, panel, true);
  handle_title(frame, panel, true);
  end_panel();
}

// Tabs of a leaf with several panels; a panel by itself has its title, or draws its own.
void DockView::draw_head(const Frame& frame, const DockNode& leaf) {
  const std::string& front = leaf.panels[leaf.active];
  if (leaf.panels.size() > 1) {
    draw_tabs(frame, leaf);
  } else if (find_panel(front)->own_title) {
    return;
  } else {
    panel_title(frame, title_of(front));
  }
  draw_size_button(frame, front);
}

// Those that do not fit are behind a button at their end.
void DockView::draw_tabs(const Frame& frame, const DockNode& leaf) {
  std::vector<const char*> titles;
  std::vector<float> widths;
  for (const std::string& panel : leaf.panels) {
    titles.push_back(title_of(panel));
    widths.push_back(text_width(frame.fonts.strong, titles.back()));
  }
  const float gap = tab_gap(frame, titles);
  const float room = ImGui::GetContentRegionAvail().x - ImGui::GetFrameHeight() - gap;
  const auto seen = tabs_that_fit(widths, leaf.active, gap, text_button_width(frame, "+88"), room);
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < leaf.panels.size(); ++i) {
    if (!std::binary_search(seen.begin(), seen.end(), i)) {
      others.push_back(i);
      continue;
    }
    draw_tab(frame, leaf.panels[i], i == leaf.active);
    const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
    tabs_.push_back({leaf.panels[i], {min.x, min.y, max.x - min.x, max.y - min.y}});
    ImGui::SameLine(0, gap);
  }
  if (others.empty()) return;
  const auto chosen = more_tabs(frame, "tabs", titles, others);
  ImGui::SameLine(0, gap);  // before what a panel says beside its tabs
  if (chosen) change_ = [this, panel = leaf.panels[*chosen]] { show(panel); };
}

void DockView::draw_tab(const Frame& frame, const std::string& panel, bool active) {
  const std::string name = std::string("tabs.") + title_of(panel);
  if (title_tab(frame, name.c_str(), title_of(panel), active) && !active) {
    change_ = [this, panel] { show(panel); };
  }
  if (ImGui::IsItemActive()) pressed_ = panel;
  if (ImGui::IsItemHovered() && ImGui::IsMouseClicked(ImGuiMouseButton_Right)) {
    menu_panel_ = panel;
    wants_menu_ = true;
  }
  std::string tip = explain(title_of(panel));
  tip.append(tip.empty() ? "" : "\n")
      .append("Drag it along the tabs or to another place; right click: more.");
  tooltip(frame, tip);
}

// At the right end of the title row; the cursor then stands where it was.
void DockView::draw_size_button(const Frame& frame, const std::string& panel) {
  const float before = ImGui::GetCursorPosX();
  align_right(frame, ImGui::GetFrameHeight());
  const bool many = leaf_of(docking, panel) != nullptr && leaf_of(docking, panel)->panels.size() > 1;
  const std::string name = many ? "tabs.large" : "tabs.large." + panel;
  if (icon_button(frame, name.c_str(), large() ? Icon::shrink : Icon::enlarge,
                  large() ? "Back to the other panels (L)" : "Larger: over the other panels (L)"))
    change_ = [this, panel] { toggle_large(panel); };
  ImGui::SameLine(0, 0);
  ImGui::SetCursorPosX(before);
}

void DockView::draw_body(const Frame& frame, Panels& panels, const std::string& panel, bool tabbed) {
  Frame own = frame;
  own.tabbed = tabbed;
  const PanelRow* const row = find_panel(panel);
  own.panel = row->id;
  std::string line, rewind, aside;
  if (frame.past != nullptr && row->step != nullptr) {
    if (const auto step = row->step(panels, own)) {
      const std::uint64_t wanted = frame.past->wanted;
      line = step_line(wanted, *step);
      if (*step != wanted) {
        rewind = rewind_offer(frame.snapshot, wanted);
        if (row->computes) aside = aside_offer(frame.snapshot, wanted);
      } else if (row->computes && frame.past->computed) {
        line += ", computed again";
      }
    }
  }
  // Nothing moves as the pointer goes over the curves.
  const bool passing = frame.cursor != nullptr && frame.cursor->passing;
  if (!passing) own.step_line = line, own.step_rewind = rewind, own.step_aside = aside;
  const FramePart part(row->id);
  row->draw(panels, own);
  if (passing && !line.empty()) draw_step_note(frame, line);
}

// The pointer on the title row beside its items: a panel that does not float is dragged by it.
void DockView::handle_title(const Frame& frame, const std::string& panel, bool floats) {
  if (!ImGui::IsWindowHovered(ImGuiHoveredFlags_RootAndChildWindows)) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) || ImGui::IsMouseClicked(ImGuiMouseButton_Right))
    current_ = panel;
  const auto area = areas_.find(panel);
  if (area == areas_.end() || mouse.y >= area->second.y + title_height(frame) || ImGui::IsAnyItemHovered())
    return;
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) && !floats && !large()) pressed_ = panel;
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) change_ = [this, panel] { toggle_large(panel); };
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Right)) {
    menu_panel_ = panel;
    wants_menu_ = true;
  }
}

void DockView::draw_menu(const Frame& frame) {
  if (std::exchange(wants_menu_, false)) ImGui::OpenPopup("dock.menu");
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(12 * frame.scale, 8 * frame.scale));
  const bool visible = ImGui::BeginPopup("dock.menu", ImGuiWindowFlags_NoMove);
  ImGui::PopStyleVar();
  if (!visible) return;
  const std::string panel = menu_panel_;
  const auto row = [&](const char* name, const char* label, std::function<void()> change) {
    const bool chosen = ImGui::Selectable(label);
    trace_item(name);
    if (chosen) change_ = std::move(change);
  };
  caption(frame, title_of(panel));
  row("dock.large", large() ? "Back to the other panels" : "Larger", [this, panel] { toggle_large(panel); });
  row("dock.float", is_floating(docking, panel) ? "Dock" : "Float",
      [this, panel] { toggle_floating(panel); });
  row("dock.close", "Close", [this, panel] { close(panel); });
  ImGui::EndPopup();
}

// --- dragging

void DockView::drag(const Frame& frame, const Placement& placement) {
  if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) pressed_.clear();
  if (!pressed_.empty() && !large() &&
      ImGui::IsMouseDragging(ImGuiMouseButton_Left, kDragPixels * frame.scale)) {
    dragged_ = std::exchange(pressed_, "");
  }
  if (dragged_.empty()) return;
  const float title = title_height(frame);
  if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) return drop(placement, title);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  auto* const list = ImGui::GetForegroundDrawList();
  const bool floats = ImGui::GetIO().KeyShift || !room_.contains(mouse.x, mouse.y);
  const auto target = floats ? std::nullopt : drop_at(placement, dragged_, mouse.x, mouse.y, title, tabs_);
  std::string words = title_of(dragged_);
  if (floats) words += ": float";
  if (target && target->place) {
    const float half = std::max(1.0f, std::floor(1.5f * frame.scale));
    list->AddRectFilled(ImVec2(target->area.x - half, target->area.y),
                        ImVec2(target->area.x + half, target->area.bottom()), frame.palette.accent);
  } else if (target) {
    const ImU32 fill = (frame.palette.accent & ~IM_COL32_A_MASK) | (64U << IM_COL32_A_SHIFT);
    list->AddRectFilled(corner(target->area), far_corner(target->area), fill, 4 * frame.scale);
    list->AddRect(corner(target->area), far_corner(target->area), frame.palette.accent, 4 * frame.scale, 0,
                  std::max(1.0f, 2 * frame.scale));
    if (!target->side) words += fmt::format(": a tab beside {}", title_of(target->beside));
  }
  ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeAll);
  const float s = frame.scale, width = text_width(frame.fonts.text, words);
  const ImVec2 at(mouse.x + 14 * s, mouse.y + 14 * s);
  const ImVec2 end(at.x + width + 16 * s, at.y + font_size(frame.fonts.text) + 10 * s);
  list->AddRectFilled(at, end, frame.palette.popup, 4 * s);
  list->AddRect(at, end, frame.palette.border, 4 * s);
  draw_text(list, frame.fonts.text, at.x + 8 * s, end.y - 9 * s, frame.palette.text, words);
}

void DockView::drop(const Placement& placement, float title) {
  const std::string panel = std::exchange(dragged_, "");
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (ImGui::GetIO().KeyShift || !room_.contains(mouse.x, mouse.y)) {
    const Area place{(mouse.x - room_.x) / room_.w, (mouse.y - room_.y) / room_.h, kFloatWidth, kFloatHeight};
    change_ = [this, panel, place] { float_panel(docking, panel, place); };
    return;
  }
  const auto target = drop_at(placement, panel, mouse.x, mouse.y, title, tabs_);
  if (!target) return;
  change_ = [this, panel, target = *target] {
    if (target.side) return split_panel(docking, panel, target.beside, *target.side);
    target.place ? place_tab(docking, panel, target.beside, *target.place)
                 : join_panel(docking, panel, target.beside);
  };
}

// For tests: which panels are open, seen and floating.
void DockView::trace() {
  if (!trace_enabled()) return;
  std::string open, seen, floating;
  const auto add = [](std::string& list, const std::string& name) {
    if (!list.empty()) list += ',';
    list += json_string(name);
  };
  for (const std::string& panel : open_panels(docking)) {
    add(open, panel);
    if (sees(panel)) add(seen, panel);
    if (is_floating(docking, panel)) add(floating, panel);
  }
  std::string now = fmt::format("\"open\":[{}],\"seen\":[{}],\"floating\":[{}],\"large\":{},\"layout\":{}",
                                open, seen, floating, large(), json_string(name_of_layout(docking, {})));
  trace_change(traced_, "panels", now);
}

}  // namespace warpscope::ui
