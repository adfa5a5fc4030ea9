#include "ui/plot/bars.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "ui/frame/trace.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui::plot {
namespace {

enum : std::size_t { kLabel, kBar, kText, kDetail };

constexpr double kMostWhisker = 2;  // times the longest bar

// A row of the table: a bar, or the title of a group.
struct BarLine {
  std::size_t group;
  std::optional<std::size_t> bar;
};

std::vector<BarLine> lines_of(std::span<const BarGroup> groups) {
  std::vector<BarLine> lines;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    lines.push_back({i, {}});
    for (std::size_t j = 0; j < groups[i].bars.size(); ++j) lines.push_back({i, j});
  }
  return lines;
}

void draw_title(const Frame& frame, Table& table, const BarGroup& group) {
  table.span(kLabel, kDetail, [&](ImVec2 min, ImVec2 max) {
    auto* const list = ImGui::GetWindowDrawList();
    const float after =
        advance_text(list, frame.fonts.strong, min.x, table.baseline(), frame.palette.text, group.title);
    const float left = after + 8 * frame.scale;
    const std::string subtitle = ellipsize(frame.fonts.small, group.subtitle, max.x - left);
    draw_text(list, frame.fonts.small, left, table.baseline(), frame.palette.muted, subtitle);
    if (subtitle != group.subtitle) area_tooltip(frame, min, max, group.title + "\n" + group.subtitle);
  });
}

void draw_label(const Frame& frame, Table& table, const Bar& bar) {
  table.enter(kLabel);
  auto* const list = ImGui::GetWindowDrawList();
  const ImU32 color = bar.refusal.empty() ? frame.palette.text : frame.palette.muted;
  const float left = table.cell_min(kLabel).x, right = table.cell_max(kLabel).x;
  const std::string label = ellipsize(frame.fonts.text, bar.label, right - left);
  const float after = advance_text(list, frame.fonts.text, left, table.baseline(), color, label);
  const float note = after + 8 * frame.scale;
  if (bar.note.empty() || note + text_width(frame.fonts.small, bar.note) > right) return;
  draw_text(list, frame.fonts.small, note, table.baseline(),
            bar.best ? frame.palette.good : frame.palette.muted, bar.note);
}

void draw_length(const Frame& frame, Table& table, const BarGroup& group, const Bar& bar, bool logarithmic) {
  table.enter(kBar);
  const ImVec2 min = table.cell_min(kBar), max = table.cell_max(kBar);
  const float inset = std::floor(6 * frame.scale);
  const Axis axis = bar_axis(group, logarithmic, min.x, max.x);
  draw_bar(frame, ImVec2(min.x, min.y + inset), ImVec2(max.x, max.y - inset), axis, bar);
  if (!(group.mark > 0)) return;
  const float x = std::floor(axis.to_pixel(group.mark));
  if (x >= min.x) {
    ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(x, min.y), ImVec2(x + hairline(frame), max.y),
                                              frame.palette.warning);
  }
}

void draw_row(const Frame& frame, Table& table, const BarGroup& group, const Bar& bar, bool logarithmic) {
  draw_label(frame, table, bar);
  if (!bar.refusal.empty()) {
    table.span_text(kBar, kDetail, bar.refusal, frame.palette.muted);
  } else {
    draw_length(frame, table, group, bar, logarithmic);
    table.number(kText, bar.text, frame.palette.text);
    table.quantity(kDetail, bar.detail, frame.palette.text);
  }
}

}  // namespace

std::array<ui::Column, 4> bar_columns(const BarNames& names) {
  return {{{names.label, names.label_tip, 168},
           {"", names.bar_tip, 96},
           {.label = names.text, .tip = names.text_tip, .width = 72, .right = true, .fixed = true},
           {.label = names.detail,
            .tip = names.detail_tip,
            .width = 56,
            .right = true,
            .rank = 1,
            .fixed = true}}};
}

Axis bar_axis(const BarGroup& group, bool logarithmic, float left, float right) {
  double low = 0, longest = group.mark, whisker = 0;
  for (const Bar& bar : group.bars) {
    if (!(bar.value > 0)) continue;
    const double least = bar.low > 0 ? std::min(bar.low, bar.value) : bar.value;
    low = low > 0 ? std::min(low, least) : least;
    longest = std::max(longest, bar.value);
    whisker = std::max(whisker, bar.high);
  }
  // A few outliers must not make the bars themselves unreadable.
  double high = std::max(longest, std::min(whisker, kMostWhisker * longest));
  if (group.mark > 0) low = low > 0 ? std::min(low, group.mark) : group.mark;
  if (!(high > 0)) high = 1;
  if (!logarithmic || !(low > 0)) return {0, high, left, right, false};
  // Half of the way below the shortest bar, so that a bar at a power of ten is not empty.
  const double start = std::pow(10.0, std::floor(std::log10(low / 1.5)));
  return {start, std::max(high, start * 1.1), left, right, true};
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
  const std::vector<BarLine> lines = lines_of(groups);
  const std::array<ui::Column, 4> columns = bar_columns(names);
  Table table(frame, name, columns, size);
  table.rows(static_cast<int>(lines.size()), [&](int i) {
    const BarLine& line = lines[static_cast<std::size_t>(i)];
    const BarGroup& group = groups[line.group];
    if (!line.bar) return draw_title(frame, table, group);
    const Bar& bar = group.bars[*line.bar];
    draw_row(frame, table, group, bar, logarithmic);
    table.span(kLabel, kDetail, [&](ImVec2 min, ImVec2 max) {
      trace_rectangle(fmt::format("{}.{}.{}", name, line.group, *line.bar), min, max);
      area_tooltip(frame, min, max, bar.tip);
    });
  });
}

}  // namespace warpscope::ui::plot
