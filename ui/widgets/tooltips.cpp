// The tool-tips of widgets.h.

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>

#include "gpu/files/utf8.h"
#include "ui/frame/trace.h"
#include "ui/settings/steering.h"
#include "ui/text/cut_texts.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

// Tool-tips come when the pointer has rested on an item for a moment, so that moving across the window is
// quiet.
constexpr double kTooltipDelay = 0.35;
constexpr float kStillPixels = 3;  // a pointer that moves less stands still

struct Hovered {
  ImVec2 min{-1, -1}, pointer{-1, -1};
  double since = 0;
  int frame = 0;  // the last frame in which it was hovered
};

// After a click or a key the item's answer is in view, not its explanation: until the pointer moves again.
bool just_used() {
  static ImVec2 at(-FLT_MAX, -FLT_MAX);
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseDown[0] || io.MouseReleased[0] || io.WantTextInput) at = io.MousePos;
  const float x = io.MousePos.x - at.x, y = io.MousePos.y - at.y;
  return x * x + y * y < kStillPixels * kStillPixels;
}

// `min`: of what the pointer is on.
bool hovered_long_enough(Hovered& hovered, ImVec2 min) {
  if (just_used()) return false;
  const int frame = ImGui::GetFrameCount();
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  // An item may move under a pointer that rests, because a number beside it has got longer.
  const bool moved = pointer.x != hovered.pointer.x || pointer.y != hovered.pointer.y;
  const bool elsewhere = hovered.min.x != min.x || hovered.min.y != min.y;
  if ((moved && elsewhere) || hovered.frame < frame - 1) hovered.since = ImGui::GetTime();
  hovered.min = min;
  hovered.pointer = pointer;
  hovered.frame = frame;
  return ImGui::GetTime() - hovered.since >= kTooltipDelay;
}

bool hovered_long_enough(ImVec2 min) {
  static Hovered hovered;  // there is one pointer
  return hovered_long_enough(hovered, min);
}

// `tip` of what lies between `min` and `max`; before it all of the text there that is cut under the pointer.
std::string with_cut_text(std::string_view tip, ImVec2 min, ImVec2 max) {
  const CutText* const cut = pointed_cut_text(min, max);
  std::string text(tip);
  if (cut == nullptr || text.find(cut->whole) != std::string::npos) return text;
  return text.empty() ? cut->whole : cut->whole + "\n" + text;
}

// Whether this frame has a tool-tip.
int& frame_of_tip() {
  static int frame = -1;
  return frame;
}

// A readable width, or that of the window if it is less.
float tip_wrap(const Frame& frame) {
  const float s = frame.scale;
  return std::max(1.0f, std::min(340 * s, ImGui::GetIO().DisplaySize.x - 32 * s));
}

// For tests: a tool-tip when it comes, or says something else.
void trace_tip(std::string_view text) {
  static std::string told;
  static int frame = -1;
  if (!trace_enabled()) return;
  if (told != text || frame < ImGui::GetFrameCount() - 1) trace_event("tip", "\"text\":" + json_string(text));
  told = text;
  frame = ImGui::GetFrameCount();
}

// Below the rectangle, or above it where there is no room, so that it and its neighbours stay in view; over it where
// there is no room above either.
void show_tooltip(const Frame& frame, std::string_view raw, ImVec2 min, ImVec2 max) {
  const std::string said = files::escaped(raw, files::Keep::lines);  // names of files may stand in it
  const float s = frame.scale, gap = 6 * s;
  const ImVec2 padding(10 * s, 8 * s), display = ImGui::GetIO().DisplaySize;
  const float wrap = tip_wrap(frame);
  const std::string text = wrapped(frame.fonts.text, said, wrap);
  ImGui::PushFont(frame.fonts.text);
  const ImVec2 size = ImGui::CalcTextSize(text.data(), text.data() + text.size(), false, wrap);
  const float height = size.y + 2 * padding.y;
  const float x = std::max(gap, std::min(min.x, display.x - size.x - 2 * padding.x - gap));
  const float y = max.y + gap + height < display.y ? max.y + gap : std::max(gap, min.y - gap - height);
  frame_of_tip() = ImGui::GetFrameCount();
  trace_tip(said);
  ImGui::SetNextWindowPos(ImVec2(std::floor(x), std::floor(y)));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, padding);
  ImGui::PushStyleVar(ImGuiStyleVar_Alpha, 1.0f);
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(padding.x + wrap);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
  ImGui::PopFont();
  ImGui::PopStyleVar(2);
}

}  // namespace

void tooltip(const Frame& frame, std::string_view item_text) {
  const std::string_view refusal = steering_refusal();
  if ((item_text.empty() && refusal.empty()) || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled) ||
      !hovered_long_enough(ImGui::GetItemRectMin()))
    return;
  std::string text = with_cut_text(item_text, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  if (!refusal.empty()) text.append(text.empty() ? "" : "\n").append(refusal);
  show_tooltip(frame, text, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

void area_tooltip(const Frame& frame, ImVec2 min, ImVec2 max, std::string_view text) {
  if (text.empty() || !ImGui::IsWindowHovered() || !ImGui::IsMouseHoveringRect(min, max) ||
      !hovered_long_enough(min))
    return;
  show_tooltip(frame, with_cut_text(text, min, max), min, max);
}

void cut_text_tip(const Frame& frame) {
  static Hovered hovered;
  const CutText* const cut = pointed_cut_text(ImVec2(-FLT_MAX, -FLT_MAX), ImVec2(FLT_MAX, FLT_MAX));
  if (cut == nullptr || !hovered_long_enough(hovered, cut->min)) return;
  if (frame_of_tip() != ImGui::GetFrameCount()) show_tooltip(frame, cut->whole, cut->min, cut->max);
}

void pointer_tip(const Frame& frame, std::string_view said) {
  const float s = frame.scale, wrap = tip_wrap(frame);
  const std::string text = wrapped(frame.fonts.text, said, wrap);
  frame_of_tip() = ImGui::GetFrameCount();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10 * s, 8 * s));
  ImGui::PushFont(frame.fonts.text);
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(10 * s + wrap);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
  ImGui::PopFont();
  ImGui::PopStyleVar();
}

}  // namespace warpscope::ui
