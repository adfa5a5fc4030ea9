#include "ui/panels/curves/loss_legend.h"

#include <algorithm>
#include <cmath>

#include "ui/plot/draw_curve.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {

std::string curve_value_text(double value) {
  return std::abs(value) >= 1000 && std::abs(value) < 1e9 ? with_thousands(value) : compact_number(value, 4);
}

float legend_width(const Frame& frame, const LegendEntry& entry, bool with_value) {
  const float label = 18 * frame.scale + text_width(frame.fonts.text, entry.label);
  if (!with_value || entry.value.empty()) return label;
  const ImFont* const numbers = frame.fonts.numbers;
  return label + 6 * frame.scale + std::max(text_width(numbers, "0.00000"), text_width(numbers, entry.value));
}

bool legend_item(const Frame& frame, const LegendEntry& entry, bool with_value, std::string_view tip) {
  const float s = frame.scale;
  const bool clicked =
      hit_area(entry.name.c_str(), ImVec2(legend_width(frame, entry, with_value), ImGui::GetFrameHeight()));
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  auto* const list = ImGui::GetWindowDrawList();
  const float middle = std::floor((min.y + max.y) / 2), baseline = row_baseline(frame, min.y);
  const ImU32 text = entry.shown || ImGui::IsItemHovered() ? frame.palette.text : frame.palette.muted;
  plot::draw_swatch(list, ImVec2(min.x, middle - s), ImVec2(min.x + 12 * s, middle + s),
                    entry.shown ? entry.color : frame.palette.grid, plot::dash_pattern(entry.dash, s));
  const float end = advance_text(list, frame.fonts.text, min.x + 18 * s, baseline, text, entry.label);
  if (with_value && !entry.value.empty()) {
    draw_text(list, frame.fonts.numbers, end + 6 * s, baseline, entry.shown ? text : frame.palette.muted,
              entry.value);
  }
  trace_item(entry.name);
  tooltip(frame, tip);
  return clicked;
}

}  // namespace warpscope::ui
