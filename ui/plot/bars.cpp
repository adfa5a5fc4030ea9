#include "ui/plot/bars.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/widgets.h"

namespace warpscope::ui::plot {
namespace {

constexpr float kGap = 12;  // design pixels

float row_height(const Frame& frame) {
  return std::max(ImGui::GetFontSize() + 4 * frame.scale, std::floor(20 * frame.scale));
}

float baseline_of(const Frame& frame, float top, float height) {
  return row_baseline(frame, top + std::floor((height - ImGui::GetFrameHeight()) / 2));
}

// Columns that fit every row, so that numbers of all groups stand under each other.
BarColumns columns_of(const Frame& frame, std::span<const BarGroup> groups, const BarNames& names,
                      float width) {
  float label = 0, text = text_width(frame.fonts.small, names.text),
        detail = text_width(frame.fonts.small, names.detail);
  for (const BarGroup& group : groups) {
    for (const Bar& bar : group.bars) {
      const float note = bar.note.empty() ? 0 : 8 * frame.scale + text_width(frame.fonts.small, bar.note);
      label = std::max(label, text_width(frame.fonts.text, bar.label) + note);
      text = std::max(text, text_width(frame.fonts.numbers, bar.text));
      detail = std::max(detail, text_width(frame.fonts.numbers, bar.detail));
    }
  }
  return bar_columns(width, label, text, detail, kGap * frame.scale);
}

void draw_header(const Frame& frame, const BarNames& names, const BarColumns& columns) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = row_height(frame), baseline = baseline_of(frame, at.y, height);
  const auto name = [&](const char* text, float start, float end, const char* tip) {
    const float left = at.x + end - text_width(frame.fonts.small, text);
    draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, left, baseline, frame.palette.muted, text);
    ImGui::SetCursorScreenPos(ImVec2(at.x + start, at.y));
    ImGui::Dummy(ImVec2(std::max(1.0f, end - start), height));
    tooltip(frame, tip);
  };
  name(names.text, columns.bar_end, columns.text_end, names.text_tip);
  name(names.detail, columns.text_end, columns.detail_end, names.detail_tip);
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + height));
}

void draw_title(const Frame& frame, const BarGroup& group, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = ImGui::GetFrameHeight();
  ImGui::Dummy(ImVec2(width, height));
  if (!ImGui::IsItemVisible()) return;
  auto* const list = ImGui::GetWindowDrawList();
  const float baseline = row_baseline(frame, at.y);
  const float after = advance_text(list, frame.fonts.strong, at.x, baseline, frame.palette.text, group.title);
  const float left = after + 10 * frame.scale;
  draw_text(list, frame.fonts.small, left, baseline, frame.palette.muted,
            ellipsize(frame.fonts.small, group.subtitle, at.x + width - left));
}

void draw_label(const Frame& frame, const Bar& bar, ImVec2 at, float baseline, float room) {
  auto* const list = ImGui::GetWindowDrawList();
  const ImU32 color = bar.refusal.empty() ? frame.palette.text : frame.palette.muted;
  const std::string label = ellipsize(frame.fonts.text, bar.label, room);
  const float after = advance_text(list, frame.fonts.text, at.x, baseline, color, label);
  if (bar.note.empty()) return;
  const float left = after + 8 * frame.scale;
  draw_text(list, frame.fonts.small, left, baseline, bar.best ? frame.palette.good : frame.palette.muted,
            ellipsize(frame.fonts.small, bar.note, at.x + room - left));
}

void draw_numbers(const Frame& frame, const Bar& bar, ImVec2 at, float baseline, const BarColumns& columns) {
  auto* const list = ImGui::GetWindowDrawList();
  const ImFont* const font = frame.fonts.numbers;
  draw_text(list, font, at.x + columns.text_end - text_width(font, bar.text), baseline, frame.palette.text,
            bar.text);
  draw_text(list, font, at.x + columns.detail_end - text_width(font, bar.detail), baseline,
            frame.palette.muted, bar.detail);
}

void draw_row(const Frame& frame, const std::string& name, const BarGroup& group, const Bar& bar,
              const BarColumns& columns, const Axis& axis) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = row_height(frame), inset = std::floor(4 * frame.scale);
  ImGui::Dummy(ImVec2(columns.detail_end, height));
  if (!ImGui::IsItemVisible()) return;
  auto* const list = ImGui::GetWindowDrawList();
  const ImVec2 end(at.x + columns.detail_end, at.y + height);
  if (ImGui::IsItemHovered()) list->AddRectFilled(at, end, ImGui::GetColorU32(ImGuiCol_TableRowBgAlt, 2.0f));
  const float baseline = baseline_of(frame, at.y, height);
  draw_label(frame, bar, at, baseline, columns.label_end);
  if (!bar.refusal.empty()) {
    draw_text(list, frame.fonts.small, at.x + columns.bar_start, baseline, frame.palette.muted,
              ellipsize(frame.fonts.small, bar.refusal, columns.detail_end - columns.bar_start));
  } else {
    draw_bar(frame, ImVec2(at.x + columns.bar_start, at.y + inset),
             ImVec2(at.x + columns.bar_end, end.y - inset), axis, bar);
    draw_numbers(frame, bar, at, baseline, columns);
  }
  if (group.mark > 0 && bar.refusal.empty()) {
    const float x = std::floor(axis.to_pixel(group.mark));
    if (x >= at.x + columns.bar_start)
      list->AddRectFilled(ImVec2(x, at.y), ImVec2(x + hairline(frame), end.y), frame.palette.warning);
  }
  trace_item(name);
  tooltip(frame, bar.tip);
}

}  // namespace

Axis bar_axis(const BarGroup& group, bool logarithmic, float left, float right) {
  double low = 0, high = group.mark;
  for (const Bar& bar : group.bars) {
    if (!(bar.value > 0)) continue;
    const double least = bar.low > 0 ? std::min(bar.low, bar.value) : bar.value;
    low = low > 0 ? std::min(low, least) : least;
    high = std::max({high, bar.value, bar.high});
  }
  if (group.mark > 0) low = low > 0 ? std::min(low, group.mark) : group.mark;
  if (!(high > 0)) high = 1;
  if (!logarithmic || !(low > 0)) return {0, high, left, right, false};
  // Half of the way below the shortest bar, so that a bar at a power of ten is not empty.
  const double start = std::pow(10.0, std::floor(std::log10(low / 1.5)));
  return {start, std::max(high, start * 1.1), left, right, true};
}

BarColumns bar_columns(float width, float label, float text, float detail, float gap) {
  const float numbers = gap + text + (detail > 0 ? gap + detail : 0);
  const float least = std::floor(width / 4);
  const float room = std::max(0.0f, width - numbers - gap);
  label = std::clamp(label, 0.0f, std::max(0.0f, room - least));
  BarColumns columns;
  columns.label_end = std::ceil(label);
  columns.bar_start = std::ceil(label + gap);
  columns.bar_end = std::max(columns.bar_start, std::floor(width - numbers));
  columns.text_end = columns.bar_end + gap + text;
  columns.detail_end = columns.text_end + (detail > 0 ? gap + detail : 0);
  return columns;
}

void draw_bar(const Frame& frame, ImVec2 min, ImVec2 max, const Axis& axis, const Bar& bar) {
  auto* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(min, max, frame.palette.grid);
  if (!(bar.value > 0) || !axis.shows(bar.value)) return;
  const auto pixel = [&](double value) { return std::clamp(std::floor(axis.to_pixel(value)), min.x, max.x); };
  const float end = std::max(min.x + hairline(frame), pixel(bar.value));
  list->AddRectFilled(min, ImVec2(end, max.y), bar.color);
  if (!(bar.high > bar.low) || !axis.shows(bar.low)) return;
  const float left = pixel(bar.low), right = std::max(left + 1, pixel(bar.high));
  const float middle = std::floor((min.y + max.y) / 2), half = std::floor((max.y - min.y) / 4);
  const float thick = hairline(frame);
  const ImU32 color = frame.palette.text;
  list->AddRectFilled(ImVec2(left, middle), ImVec2(right, middle + thick), color);
  list->AddRectFilled(ImVec2(left, middle - half), ImVec2(left + thick, middle + half + thick), color);
  list->AddRectFilled(ImVec2(right - thick, middle - half), ImVec2(right, middle + half + thick), color);
}

void draw_bars(const Frame& frame, const char* name, ImVec2 size, std::span<const BarGroup> groups,
               const BarNames& names, bool logarithmic) {
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild(name, size, false, ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  const float width =
      ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize - std::floor(6 * frame.scale);
  const BarColumns columns = columns_of(frame, groups, names, width);
  draw_header(frame, names, columns);
  ImGui::BeginChild("groups", ImVec2(0, 0));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    draw_title(frame, groups[i], columns.detail_end);
    const float left = ImGui::GetCursorScreenPos().x;
    const Axis axis = bar_axis(groups[i], logarithmic, left + columns.bar_start, left + columns.bar_end);
    for (std::size_t j = 0; j < groups[i].bars.size(); ++j) {
      draw_row(frame, fmt::format("{}.{}.{}", name, i, j), groups[i], groups[i].bars[j], columns, axis);
    }
    ImGui::Dummy(ImVec2(1, std::floor(8 * frame.scale)));
  }
  ImGui::EndChild();
  ImGui::EndChild();
  ImGui::PopStyleVar();
}

}  // namespace warpscope::ui::plot
