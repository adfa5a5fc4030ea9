// The controls of widgets.h.

#include <algorithm>
#include <cmath>
#include <string>

#include <imgui_internal.h>  // popups that are open, which imgui.h does not tell

#include "ui/settings/steering.h"
#include "ui/text/terms.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kPi = 3.14159265f;
constexpr float kSegmentGap = 1;  ///< pixels between the choices of segmented()

// Icons are drawn in a box of 16 design pixels; `p(x, y)` maps it to the screen.
struct IconPen {
  ImDrawList* list;
  ImVec2 origin;
  float unit;
  ImU32 color;

  ImVec2 p(float x, float y) const { return {origin.x + x * unit, origin.y + y * unit}; }
  void triangle(ImVec2 a, ImVec2 b, ImVec2 c) const { list->AddTriangleFilled(a, b, c, color); }
  void box(float x0, float y0, float x1, float y1) const {
    list->AddRectFilled(p(x0, y0), p(x1, y1), color, unit);
  }
  void line(float x0, float y0, float x1, float y1) const {
    list->AddLine(p(x0, y0), p(x1, y1), color, std::max(1.0f, 1.6f * unit));
  }
  // Two opposite corners of a frame from `low` to `high`; their legs are `leg` long.
  void corners(float low, float high, float leg) const {
    line(high, low, high - leg, low);
    line(high, low, high, low + leg);
    line(low, high, low + leg, high);
    line(low, high, low, high - leg);
  }
};

void draw_reset(const IconPen& pen) {
  const ImVec2 center = pen.p(8, 8.4f);
  pen.list->PathArcTo(center, 4.8f * pen.unit, -0.35f * kPi, 1.25f * kPi, 24);
  pen.list->PathStroke(pen.color, 0, 1.7f * pen.unit);
  // The arrow head at the start of the arc, pointing against the clock.
  pen.triangle(pen.p(5.9f, 3.2f), pen.p(10.6f, 1.2f), pen.p(10.9f, 6.6f));
}

void draw_camera(const IconPen& pen) {
  pen.list->AddRect(pen.p(2, 4.5f), pen.p(14, 12.5f), pen.color, 1.5f * pen.unit, 0, 1.4f * pen.unit);
  pen.list->AddCircle(pen.p(8, 8.5f), 2.2f * pen.unit, pen.color, 16, 1.4f * pen.unit);
  pen.box(6, 3, 10, 4.5f);
}

void draw_help(const IconPen& pen) {
  pen.list->AddCircle(pen.p(8, 8), 6 * pen.unit, pen.color, 24, 1.4f * pen.unit);
  pen.list->PathArcTo(pen.p(8, 6.6f), 1.9f * pen.unit, -kPi, 0.45f * kPi, 12);
  pen.list->PathLineTo(pen.p(8, 9.2f));
  pen.list->PathStroke(pen.color, 0, 1.4f * pen.unit);
  pen.list->AddCircleFilled(pen.p(8, 11.2f), 0.9f * pen.unit, pen.color, 8);
}

void draw_sliders(const IconPen& pen) {
  constexpr float kKnobs[3] = {10.5f, 5.5f, 9};
  for (int i = 0; i < 3; ++i) {
    const float y = 4 + 4 * static_cast<float>(i);
    pen.line(2.5f, y, 13.5f, y);
    pen.list->AddCircleFilled(pen.p(kKnobs[i], y), 1.9f * pen.unit, pen.color, 12);
  }
}

// Colours of a button that is drawn by hand.
ImU32 button_fill(bool active_state) {
  const bool hovered = ImGui::IsItemHovered(), held = ImGui::IsItemActive();
  return ImGui::GetColorU32(held           ? ImGuiCol_ButtonActive
                            : hovered      ? ImGuiCol_ButtonHovered
                            : active_state ? ImGuiCol_Header
                                           : ImGuiCol_Button);
}

void push_disabled(bool enabled) {
  if (!enabled) ImGui::BeginDisabled();
}
void pop_disabled(bool enabled) {
  if (!enabled) ImGui::EndDisabled();
}

float corner(const Frame& frame) {
  return 3 * frame.scale;
}

void draw_label(const Frame& frame, ImVec2 min, ImVec2 max, ImU32 color, const char* label) {
  const float x = min.x + (max.x - min.x - text_width(frame.fonts.text, label)) / 2;
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.text, x, row_baseline(frame, min.y), color, label);
}

ImU32 faded(ImU32 color) {
  return ImGui::GetColorU32(ImGui::ColorConvertU32ToFloat4(color));  // applies the alpha of disabled items
}

}  // namespace

void draw_icon(ImDrawList* list, Icon icon, ImVec2 min, ImVec2 max, ImU32 color) {
  const float size = std::min(max.x - min.x, max.y - min.y);
  const IconPen pen{list,
                    ImVec2(std::floor((min.x + max.x - size) / 2), std::floor((min.y + max.y - size) / 2)),
                    size / 16, color};
  switch (icon) {
    case Icon::play:
      pen.triangle(pen.p(4.5f, 2.5f), pen.p(13.5f, 8), pen.p(4.5f, 13.5f));
      break;
    case Icon::pause:
      pen.box(4, 3, 7, 13);
      pen.box(9, 3, 12, 13);
      break;
    case Icon::step:
      pen.triangle(pen.p(3.5f, 3), pen.p(10.5f, 8), pen.p(3.5f, 13));
      pen.box(11, 3, 13, 13);
      break;
    case Icon::reset:
      draw_reset(pen);
      break;
    case Icon::close:
      pen.line(4.5f, 4.5f, 11.5f, 11.5f);
      pen.line(11.5f, 4.5f, 4.5f, 11.5f);
      break;
    case Icon::help:
      draw_help(pen);
      break;
    case Icon::camera:
      draw_camera(pen);
      break;
    case Icon::left:
      pen.triangle(pen.p(5, 8), pen.p(11, 4), pen.p(11, 12));
      break;
    case Icon::right:
      pen.triangle(pen.p(11, 8), pen.p(5, 12), pen.p(5, 4));
      break;
    case Icon::up:
      pen.triangle(pen.p(8, 5), pen.p(12, 11), pen.p(4, 11));
      break;
    case Icon::down:
      pen.triangle(pen.p(8, 11), pen.p(4, 5), pen.p(12, 5));
      break;
    case Icon::fit:
      pen.list->AddRect(pen.p(2.5f, 3.5f), pen.p(13.5f, 12.5f), color, 1.5f * pen.unit, 0, 1.4f * pen.unit);
      pen.line(5, 8, 11, 8);
      break;
    case Icon::follow:
      pen.triangle(pen.p(3, 3.5f), pen.p(9, 8), pen.p(3, 12.5f));
      pen.line(12, 3, 12, 13);
      break;
    case Icon::enlarge:
      pen.corners(3, 13, 4);
      break;
    case Icon::shrink:
      pen.corners(7, 9, -4);
      break;
    case Icon::sliders:
      draw_sliders(pen);
      break;
    case Icon::record:
      pen.list->AddCircleFilled(pen.p(8, 8), 4.5f * pen.unit, color, 24);
      break;
    case Icon::not_recorded:
      pen.list->AddCircle(pen.p(8, 8), 4.5f * pen.unit, color, 24, 1.4f * pen.unit);
      break;
  }
}

bool icon_button(const Frame& frame, const char* name, Icon icon, std::string_view tip, bool enabled) {
  const float side = ImGui::GetFrameHeight();
  push_disabled(enabled);
  const bool clicked = hit_area(name, ImVec2(side, side));
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  auto* const list = ImGui::GetWindowDrawList();
  if (enabled && steering_refusal().empty()) {
    list->AddRectFilled(min, max, button_fill(false), corner(frame));
  }
  const float inset = std::floor((side - 16 * frame.scale) / 2);
  draw_icon(list, icon, ImVec2(min.x + inset, min.y + inset), ImVec2(max.x - inset, max.y - inset),
            faded(frame.palette.text));
  pop_disabled(enabled);
  trace_item(name);
  tooltip(frame, tip);
  return clicked;
}

float text_button_width(const Frame& frame, std::string_view label) {
  return text_width(frame.fonts.text, label) + 20 * frame.scale;
}

bool text_button(const Frame& frame, const char* name, const char* label, std::string_view tip,
                 bool enabled) {
  push_disabled(enabled);
  const bool clicked = hit_area(name, ImVec2(text_button_width(frame, label), ImGui::GetFrameHeight()));
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  ImGui::GetWindowDrawList()->AddRectFilled(min, max, button_fill(false), corner(frame));
  draw_label(frame, min, max, faded(frame.palette.text), label);
  pop_disabled(enabled);
  trace_item(name);
  tooltip(frame, tip);
  return clicked;
}

float toggle_width(const Frame& frame, std::string_view label) {
  return text_width(frame.fonts.text, label) + 16 * frame.scale;
}

bool toggle(const Frame& frame, const char* name, const char* label, bool* value, std::string_view tip) {
  const bool clicked = hit_area(name, ImVec2(toggle_width(frame, label), ImGui::GetFrameHeight()));
  if (clicked) *value = !*value;
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  auto* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(min, max, button_fill(*value), corner(frame));
  if (*value) {
    list->AddRectFilled(ImVec2(min.x + corner(frame), max.y - std::max(1.0f, std::floor(2 * frame.scale))),
                        ImVec2(max.x - corner(frame), max.y), frame.palette.accent);
  }
  draw_label(frame, min, max, faded(*value ? frame.palette.text : frame.palette.muted), label);
  trace_item(name);
  tooltip(frame, tip);
  return clicked;
}

float segmented_width(const Frame& frame, std::span<const char* const> labels) {
  float width = kSegmentGap * static_cast<float>(labels.size() - 1);
  for (const char* const label : labels) width += toggle_width(frame, label);
  return width;
}

bool segmented_in_row(const Frame& frame, float gap, const char* name, std::span<const char* const> labels,
                      int* value, std::string_view tip) {
  next_in_row(frame, gap, segmented_width(frame, labels));
  return segmented(frame, name, labels, value, tip, true);
}

bool segmented(const Frame& frame, const char* name, std::span<const char* const> labels, int* value,
               std::string_view tip, bool wraps) {
  bool changed = false;
  ImGui::PushID(name);
  for (int i = 0; i < static_cast<int>(labels.size()); ++i) {
    const char* const label = labels[static_cast<std::size_t>(i)];
    if (i > 0) ImGui::SameLine(0, kSegmentGap);
    if (i > 0 && wraps && ImGui::GetContentRegionAvail().x < toggle_width(frame, label)) ImGui::NewLine();
    bool down = *value == i;
    const std::string item = std::string(name) + "." + label;
    if (toggle(frame, item.c_str(), label, &down, label_tip(label, tip)) && *value != i) {
      *value = i;
      changed = true;
    }
  }
  ImGui::PopID();
  return changed;
}

bool begin_combo(const Frame& frame, const char* name, const std::string& preview, float width,
                 std::string_view tip) {
  const bool clicked = hit_area(name, ImVec2(width, ImGui::GetFrameHeight()));
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  const float s = frame.scale, arrow = 14 * s;
  auto* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(min, max, button_fill(false), corner(frame));
  draw_text(list, frame.fonts.text, min.x + 8 * s, row_baseline(frame, min.y), faded(frame.palette.text),
            ellipsize(frame.fonts.text, preview, width - arrow - 14 * s));
  const float middle = (min.y + max.y) / 2;
  draw_icon(list, Icon::down, ImVec2(max.x - arrow - 2 * s, middle - 5 * s),
            ImVec2(max.x - 2 * s, middle + 5 * s), faded(frame.palette.muted));
  trace_item(name);
  tooltip(frame, tip);

  const std::string popup = std::string(name) + "##popup";
  if (clicked) ImGui::OpenPopup(popup.c_str());
  // Above the button in the lower half of the window, so that long lists find room.
  const bool above = min.y > 0.6f * ImGui::GetIO().DisplaySize.y;
  ImGui::SetNextWindowPos(ImVec2(min.x, above ? min.y - 2 * s : max.y + 2 * s), ImGuiCond_Always,
                          ImVec2(0, above ? 1.0f : 0.0f));
  ImGui::SetNextWindowSizeConstraints(ImVec2(width, 0), ImVec2(FLT_MAX, 0.6f * ImGui::GetIO().DisplaySize.y));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(4 * s, 4 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * s, 0));
  const bool open = ImGui::BeginPopup(popup.c_str(), ImGuiWindowFlags_NoMove);
  if (open) {
    trace_open_list(name);
  } else {
    ImGui::PopStyleVar(2);
  }
  return open;
}

bool combo_item(const Frame& frame, const char* name, const char* label, bool selected, std::string_view note,
                std::string_view refusal) {
  const float s = frame.scale, pad = 8 * s, mark = 12 * s;
  const float wanted = mark + text_width(frame.fonts.text, label) + 2 * pad +
                       (note.empty() ? 0 : 16 * s + text_width(frame.fonts.small, note));
  const float width = std::max(wanted, ImGui::GetContentRegionAvail().x);
  push_disabled(refusal.empty());
  const bool clicked = hit_area(name, ImVec2(width, ImGui::GetFrameHeight()));
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  auto* const list = ImGui::GetWindowDrawList();
  if (refusal.empty() && ImGui::IsItemHovered()) {
    list->AddRectFilled(min, max, ImGui::GetColorU32(ImGuiCol_HeaderHovered), corner(frame));
  }
  const float baseline = row_baseline(frame, min.y);
  if (selected) {
    const ImVec2 center(min.x + pad, (min.y + max.y) / 2);
    list->AddCircleFilled(center, 2.5f * s, frame.palette.accent);
  }
  draw_text(list, frame.fonts.text, min.x + pad + mark, baseline, faded(frame.palette.text), label);
  if (!note.empty()) {
    const float x = max.x - pad - text_width(frame.fonts.small, note);
    draw_text(list, frame.fonts.small, x, baseline, faded(frame.palette.muted), note);
  }
  pop_disabled(refusal.empty());
  trace_item(name);
  tooltip(frame, refusal);
  if (clicked) ImGui::CloseCurrentPopup();
  return clicked;
}

bool close_last_popup() {
  const int open = ImGui::GetCurrentContext()->OpenPopupStack.Size;
  if (open > 0) ImGui::ClosePopupToLevel(open - 1, true);
  return open > 0;
}

void end_combo() {
  ImGui::EndPopup();
  ImGui::PopStyleVar(2);
}

void progress_bar(const Frame& frame, const char* name, float width, float part) {
  const float s = frame.scale;
  ImGui::Dummy(ImVec2(width, ImGui::GetFrameHeight()));
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  const float half = std::max(1.0f, std::floor(3 * s)), middle = std::floor((min.y + max.y) / 2);
  const float end = min.x + (max.x - min.x) * std::clamp(part, 0.0f, 1.0f);
  auto* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(ImVec2(min.x, middle - half), ImVec2(max.x, middle + half), frame.palette.grid, half);
  list->AddRectFilled(ImVec2(min.x, middle - half), ImVec2(end, middle + half), frame.palette.accent, half);
  trace_item(name);
}

bool slider(const Frame& frame, const char* name, float* value, float minimum, float maximum,
            const char* text, float width, std::string_view tip, bool logarithmic, std::string_view widest) {
  const float s = frame.scale;
  hit_area(name, ImVec2(width, ImGui::GetFrameHeight()));
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  const auto to_position = [&](float v) {
    if (logarithmic) return std::log(v / minimum) / std::log(maximum / minimum);
    return (v - minimum) / (maximum - minimum);
  };
  const bool has_text = text != nullptr && *text != '\0';
  const float knob = 5 * s, left = min.x + knob;
  // A text that is wider than expected moves the end of the slider rather than being cut.
  const float room =
      has_text ? std::max(text_width(frame.fonts.numbers, widest), text_width(frame.fonts.numbers, text)) : 0;
  const float right = max.x - knob - (has_text ? room + 5 * s : 0), span = right - left;
  bool changed = false;
  if (ImGui::IsItemActive() && span > 0) {
    const float t = std::clamp((ImGui::GetIO().MousePos.x - left) / span, 0.0f, 1.0f);
    const float wanted =
        logarithmic ? minimum * std::pow(maximum / minimum, t) : minimum + t * (maximum - minimum);
    changed = wanted != *value;
    *value = wanted;
  }
  auto* const list = ImGui::GetWindowDrawList();
  const float track = std::floor((min.y + max.y) / 2);
  const float x = left + span * std::clamp(to_position(*value), 0.0f, 1.0f);
  const float half = std::max(1.0f, std::floor(s));
  list->AddRectFilled(ImVec2(left, track - half), ImVec2(right, track + half), faded(frame.palette.grid),
                      half);
  list->AddRectFilled(ImVec2(left, track - half), ImVec2(x, track + half), faded(frame.palette.accent), half);
  const bool hot = ImGui::IsItemHovered() || ImGui::IsItemActive();
  list->AddCircleFilled(ImVec2(x, track), hot ? knob : 4 * s,
                        faded(hot ? frame.palette.text : frame.palette.accent), 20);
  if (has_text) {
    const float text_x = right + knob + 5 * s;
    draw_text(list, frame.fonts.numbers, text_x, row_baseline(frame, min.y), faded(frame.palette.text), text);
  }
  trace_item(name);
  if (!ImGui::IsItemActive()) tooltip(frame, tip);
  return changed;
}

}  // namespace warpscope::ui
