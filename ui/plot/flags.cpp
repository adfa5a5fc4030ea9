#include "ui/plot/flags.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/widgets.h"

namespace warpscope::ui::plot {
namespace {

constexpr std::size_t kMostLines = 12;

std::string flag_text(std::span<const Marker> markers, const FlagGroup& group) {
  const std::size_t count = group.last - group.first;
  return count == 1 ? markers[group.first].text : fmt::format("{} changes", count);
}

void draw_group_tooltip(const Frame& frame, std::span<const Marker> markers, const FlagGroup& group,
                        Unit unit) {
  const float s = frame.scale;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10 * s, 8 * s));
  ImGui::BeginTooltip();
  const std::size_t shown = std::min(group.last, group.first + kMostLines);
  for (std::size_t i = group.first; i < shown; ++i) {
    const Marker& marker = markers[i];
    ImGui::PushFont(frame.fonts.small);
    ImGui::PushStyleColor(ImGuiCol_Text, frame.palette.muted);
    const std::string where = (unit == Unit::count ? "step " : "at ") + value_text(marker.x, unit);
    ImGui::TextUnformatted(where.c_str());
    ImGui::PopStyleColor();
    ImGui::PopFont();
    ImGui::PushTextWrapPos(420 * s);
    ImGui::TextUnformatted(marker.text.c_str());
    ImGui::PopTextWrapPos();
  }
  if (shown < group.last) ImGui::TextDisabled("and %d more", static_cast<int>(group.last - shown));
  ImGui::EndTooltip();
  ImGui::PopStyleVar();
}

// Dashed, so that it is not taken for the line under the pointer.
void draw_hairline(ImDrawList* list, float x, float top, float bottom, ImU32 color, float scale) {
  const float dash = std::floor(4 * scale);
  for (float y = top; y < bottom; y += 2 * dash) {
    list->AddRectFilled(ImVec2(x, y),
                        ImVec2(x + std::max(1.0f, std::floor(scale)), std::min(y + dash, bottom)), color);
  }
}

}  // namespace

std::vector<FlagGroup> group_markers(std::span<const Marker> markers, const Axis& x, float left, float right,
                                     float reach) {
  std::vector<FlagGroup> groups;
  for (std::size_t i = 0; i < markers.size(); ++i) {
    const float pixel = x.to_pixel(markers[i].x);
    if (pixel < left || pixel > right) continue;
    if (!groups.empty() && groups.back().last == i && pixel - groups.back().pixel < reach) {
      groups.back().last = i + 1;
    } else {
      groups.push_back({i, i + 1, pixel});
    }
  }
  return groups;
}

float flag_height(const Frame& frame) {
  return std::floor(18 * frame.scale);
}

bool draw_flags(const Frame& frame, std::span<const Marker> markers, const Axis& x, Unit unit, float top,
                float bottom) {
  const float s = frame.scale;
  auto* const list = ImGui::GetWindowDrawList();
  const auto groups = group_markers(markers, x, x.pixel_low, x.pixel_high, 22 * s);
  const float height = flag_height(frame) - 3 * s, flag_top = top - flag_height(frame);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool window_hovered = ImGui::IsWindowHovered();
  const FlagGroup* hovered = nullptr;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const FlagGroup& group = groups[g];
    const float room = (g + 1 < groups.size() ? groups[g + 1].pixel : x.pixel_high) - group.pixel - 3 * s;
    const std::string wanted = flag_text(markers, group);
    const float padding = 5 * s;
    std::string text = ellipsize(frame.fonts.small, wanted, std::min(room, 220 * s) - 2 * padding);
    if (text.size() < wanted.size() && text.size() < 12) text.clear();
    if (text.empty() && group.last - group.first > 1) text = fmt::format("{}", group.last - group.first);
    const float width = text.empty() ? 8 * s : text_width(frame.fonts.small, text) + 2 * padding;
    const ImVec2 min(group.pixel, flag_top), max(group.pixel + width, flag_top + height);
    const bool over =
        window_hovered && mouse.x >= min.x - 2 * s && mouse.x < max.x && mouse.y >= min.y && mouse.y < top;
    if (over) hovered = &group;
    const ImU32 line = over ? frame.palette.text : frame.palette.muted;
    float last_pixel = -1;
    for (std::size_t i = group.first; i < group.last; ++i) {
      const float pixel = std::floor(x.to_pixel(markers[i].x));
      if (pixel == last_pixel) continue;
      last_pixel = pixel;
      const float from = i == group.first ? flag_top : top;
      draw_hairline(list, pixel, from, bottom, blend(line, frame.palette.panel, 0.6f), s);
    }
    list->AddRectFilled(min, max, blend(line, frame.palette.panel, over ? 0.35f : 0.22f), 2 * s);
    draw_text(list, frame.fonts.small, min.x + padding, flag_top + height - 4 * s, frame.palette.text, text);
  }
  if (hovered != nullptr) draw_group_tooltip(frame, markers, *hovered, unit);
  return hovered != nullptr;
}

}  // namespace warpscope::ui::plot
