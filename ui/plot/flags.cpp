#include "ui/plot/flags.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "ui/widgets/widgets.h"

namespace warpscope::ui::plot {
namespace {

constexpr std::size_t kMostLines = 12;
constexpr std::size_t kLeastLetters = 3;  ///< of a label that is cut
constexpr std::string_view kDots = "...";

const std::string& label_of(const Marker& marker) {
  return marker.label.empty() ? marker.text : marker.label;
}

void draw_group_tooltip(const Frame& frame, std::span<const Marker> markers, const FlagGroup& group,
                        Unit unit) {
  const float s = frame.scale;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10 * s, 8 * s));
  ImGui::BeginTooltip();
  // Each takes three lines at most.
  const float room = ImGui::GetIO().DisplaySize.y / 3;
  const auto most = static_cast<std::size_t>(room / (3 * ImGui::GetTextLineHeightWithSpacing()));
  const std::size_t shown = std::min(group.last, group.first + std::clamp<std::size_t>(most, 1, kMostLines));
  bool shortened = false;
  for (std::size_t i = group.first; i < shown; ++i) {
    const Marker& marker = markers[i];
    ImGui::PushFont(frame.fonts.small);
    ImGui::PushStyleColor(ImGuiCol_Text, frame.palette.muted);
    const std::string where = (unit == Unit::count ? "step " : "at ") + value_text(marker.x, unit);
    ImGui::TextUnformatted(where.c_str());
    ImGui::PopStyleColor();
    ImGui::PopFont();
    ImGui::PushTextWrapPos(420 * s);
    ImGui::TextUnformatted(
        wrapped(frame.fonts.text, marker.line.empty() ? marker.text : marker.line, 400 * s).c_str());
    ImGui::PopTextWrapPos();
    shortened = shortened || (!marker.line.empty() && marker.line != marker.text);
  }
  if (shown < group.last) ImGui::TextDisabled("and %d more", static_cast<int>(group.last - shown));
  ImGui::TextDisabled(shortened ? "Click to name it and to see each change." : "Click to name it.");
  if (trace_enabled()) {
    trace_event("flag_tip", fmt::format("\"line\":{},\"height\":{:.0f}",
                                        json_string(markers[group.first].line), ImGui::GetWindowHeight()));
  }
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
  const auto place = [&](float pixel) { return std::min(pixel, right - reach); };
  for (std::size_t i = 0; i < markers.size(); ++i) {
    const float pixel = x.to_pixel(markers[i].x);
    if (pixel < left || pixel > right) continue;
    if (!groups.empty() && groups.back().last == i && place(pixel) - place(groups.back().pixel) < reach) {
      groups.back().last = i + 1;
    } else {
      groups.push_back({i, i + 1, pixel});
    }
  }
  return groups;
}

std::string flag_text(std::span<const Marker> markers, const FlagGroup& group, float most,
                      const TextMeasure& measure) {
  const std::size_t count = group.last - group.first;
  const std::string& label = label_of(markers[group.first]);
  const std::string more = count == 1 ? "" : fmt::format(" +{}", count - 1);
  const std::string text = measure.cut(label, most - measure.width(more));
  const bool whole = text == label;
  const bool says = whole || text.size() >= kLeastLetters + kDots.size();
  return says && measure.width(text + more) <= most ? text + more : fmt::format("+{}", count);
}

float flag_height(const Frame& frame) {
  return std::floor(18 * frame.scale);
}

namespace {

void draw_hairlines(const Frame& frame, std::span<const Marker> markers, const FlagGroup& group,
                    const Axis& x, float flag_top, float top, float bottom, ImU32 color) {
  float last_pixel = -1;
  for (std::size_t i = group.first; i < group.last; ++i) {
    const float pixel = std::floor(x.to_pixel(markers[i].x));
    if (pixel == last_pixel) continue;
    last_pixel = pixel;
    draw_hairline(ImGui::GetWindowDrawList(), pixel, i == group.first ? flag_top : top, bottom, color,
                  frame.scale);
  }
}

struct Flag {
  std::string text;
  float left = 0, right = 0;
};

/// Pixels of a flag that says "+99" and of the gap to the next one: no flag has less room.
float least_flag(const Frame& frame) {
  return text_width(frame.fonts.small, "+99") + 13 * frame.scale;
}

// From its hairline to the right as far as `end`; the last flag may begin before its hairline, but not before `begin`.
Flag flag_of(const Frame& frame, std::span<const Marker> markers, const FlagGroup& group, float begin,
             float end, bool last) {
  const float s = frame.scale, padding = 5 * s;
  const float room = end - 3 * s - (last ? begin : group.pixel);
  const float most = std::min(room, 220 * s) - 2 * padding;
  const ImFont* const font = frame.fonts.small;
  std::string text =
      flag_text(markers, group, most,
                {[font](const std::string& of) { return text_width(font, of); },
                 [font](const std::string& of, float width) { return ellipsize(font, of, width); }});
  const float width = text_width(font, text) + 2 * padding;
  const float left = last ? std::max(begin, std::min(group.pixel, end - width)) : group.pixel;
  return {std::move(text), left, left + width};
}

}  // namespace

std::optional<FlagGroup> draw_flags(const Frame& frame, std::span<const Marker> markers, const Axis& x,
                                    Unit unit, float top, float bottom) {
  const float s = frame.scale;
  auto* const list = ImGui::GetWindowDrawList();
  const float least = least_flag(frame);
  const auto groups = group_markers(markers, x, x.pixel_low, x.pixel_high, least);
  const float height = flag_height(frame) - 3 * s, flag_top = top - flag_height(frame);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  // The press of a click makes the plot the active item, and then nothing is hovered.
  const bool pressed = ImGui::IsItemActive() && ImGui::IsMouseClicked(ImGuiMouseButton_Left);
  const bool may_hover = pressed || ImGui::IsWindowHovered();
  const FlagGroup* hovered = nullptr;
  float begin = x.pixel_low;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const FlagGroup& group = groups[g];
    const bool last = g + 1 == groups.size();
    const float end = last ? x.pixel_high : std::min(groups[g + 1].pixel, x.pixel_high - least);
    const Flag flag = flag_of(frame, markers, group, begin, end, last);
    begin = flag.right + 3 * s;
    const ImVec2 min(flag.left, flag_top), max(flag.right, flag_top + height);
    const bool over =
        may_hover && mouse.x >= min.x - 2 * s && mouse.x < max.x && mouse.y >= min.y && mouse.y < top;
    if (over) hovered = &group;
    const ImU32 line = over ? frame.palette.text : frame.palette.muted;
    draw_hairlines(frame, markers, group, x, flag_top, top, bottom, blend(line, frame.palette.panel, 0.6f));
    if (trace_enabled()) trace_rectangle(fmt::format("plot.flag.{}", g), min, max);
    list->AddRectFilled(min, max, blend(line, frame.palette.panel, over ? 0.35f : 0.22f), 2 * s);
    draw_text(list, frame.fonts.small, min.x + 5 * s, flag_top + height - 4 * s, frame.palette.text,
              flag.text);
  }
  if (hovered == nullptr) return {};
  draw_group_tooltip(frame, markers, *hovered, unit);
  return *hovered;
}

}  // namespace warpscope::ui::plot
