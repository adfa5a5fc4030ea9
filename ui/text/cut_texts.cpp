#include "ui/text/cut_texts.h"

#include <algorithm>
#include <cctype>
#include <ranges>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <imgui_internal.h>  // whether a window scrolls, and whether there is a frame at all

#include "ui/frame/trace.h"

namespace warpscope::ui {
namespace {

constexpr float kTolerance = 1.5f;  // pixels: glyphs are drawn at whole ones

struct CutShown {
  std::string shown, whole;
};

struct Kept {
  int frame = -1;
  std::vector<CutShown> cuts;        // that were made in this frame
  std::vector<CutText> drawn, past;  // places in this frame and in the one before
};

// There is one window. What is not of this frame is let go.
Kept& kept() {
  static Kept all;
  const int frame = ImGui::GetFrameCount();
  if (all.frame == frame) return all;
  all.past = all.frame == frame - 1 ? std::move(all.drawn) : std::vector<CutText>{};
  all.drawn.clear();
  all.cuts.clear();
  all.frame = frame;
  return all;
}

bool inside(ImVec2 point, ImVec2 min, ImVec2 max) {
  return point.x >= min.x && point.x < max.x && point.y >= min.y && point.y < max.y;
}

// A part of what is scrolled is always cut.
bool is_clipped(const ImGuiWindow& window, ImVec4 clip, ImVec2 min, ImVec2 max) {
  const float middle = (min.y + max.y) / 2;
  if (middle < clip.y || middle > clip.w || max.x <= clip.x || min.x >= clip.z) return false;
  const bool sideways = min.x < clip.x - kTolerance || max.x > clip.z + kTolerance;
  if (sideways && (window.Flags & ImGuiWindowFlags_HorizontalScrollbar) == 0) return true;
  const ImRect all = window.InnerClipRect;
  const bool may_scroll =
      (window.Flags & ImGuiWindowFlags_NoScrollbar) == 0 || clip.y > all.Min.y || clip.w < all.Max.y;
  const float tall = (max.y - min.y) / 4;  // ascenders and descenders take less
  return !may_scroll && (min.y < clip.y - tall || max.y > clip.w + tall);
}

void trace_clipped(ImVec2 min, ImVec2 max, std::string_view text) {
  static std::set<std::string> told;
  std::string fields = fmt::format("\"text\":{},\"x\":{:.0f},\"y\":{:.0f},\"w\":{:.0f},\"h\":{:.0f}",
                                   json_string(text), min.x, min.y, max.x - min.x, max.y - min.y);
  if (told.insert(fields).second) trace_event("clipped", fields);
}

}  // namespace

void note_cut(std::string_view shown, std::string_view whole) {
  if (ImGui::GetCurrentContext() == nullptr) return;
  kept().cuts.push_back({std::string(shown), std::string(whole)});
}

void note_drawn(const ImDrawList* list, ImVec2 min, ImVec2 max, std::string_view shown) {
  const bool may_be_cut = shown.ends_with("...");
  if (!may_be_cut && !trace_enabled()) return;
  const ImGuiContext* const context = ImGui::GetCurrentContext();
  if (!context->WithinFrameScope || list->_ClipRectStack.empty()) return;
  const ImVec4 clip = list->_ClipRectStack.back();
  if (trace_enabled() && list == context->CurrentWindow->DrawList &&
      is_clipped(*context->CurrentWindow, clip, min, max))
    trace_clipped(min, max, shown);
  if (!may_be_cut) return;
  Kept& all = kept();
  const auto found = std::find_if(all.cuts.rbegin(), all.cuts.rend(),
                                  [&](const CutShown& cut) { return cut.shown == shown; });
  if (found == all.cuts.rend()) return;
  const ImVec2 seen_min(std::max(min.x, clip.x), std::max(min.y, clip.y));
  const ImVec2 seen_max(std::min(max.x, clip.z), std::min(max.y, clip.w));
  const bool pointed = inside(context->IO.MousePos, seen_min, seen_max);
  if (pointed && ImGui::IsWindowHovered()) all.drawn.push_back({found->whole, seen_min, seen_max});
}

const CutText* pointed_cut_text(ImVec2 min, ImVec2 max) {
  const Kept& all = kept();
  for (const auto* const list : {&all.drawn, &all.past}) {
    for (const CutText& text : std::views::reverse(*list)) {
      if (inside(text.min, ImVec2(min.x - 1, min.y - 1), max) &&
          inside(ImGui::GetIO().MousePos, text.min, text.max))
        return &text;
    }
  }
  return nullptr;
}

std::string_view without_cut_number(std::string_view kept, std::string_view rest) {
  const auto digit = [](char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; };
  const auto of_number = [&](char letter) { return digit(letter) || letter == '.' || letter == ','; };
  std::size_t begin = kept.size();
  while (begin > 0 && of_number(kept[begin - 1])) --begin;
  const bool goes_on = !rest.empty() && (of_number(rest.front()) || rest.front() == '%');
  if (begin == kept.size() || !goes_on) return kept;
  // A name that ends with a number, as conv12, is no number.
  if (begin > 0 && std::isalpha(static_cast<unsigned char>(kept[begin - 1])) != 0) return kept;
  if (begin > 0 && (kept[begin - 1] == '-' || kept[begin - 1] == '+')) --begin;
  return kept.substr(0, begin);
}

}  // namespace warpscope::ui
