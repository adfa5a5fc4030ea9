#include "ui/images/colour_bar.h"

#include <cmath>

#include <fmt/format.h>

#include "ui/widgets/widgets.h"

namespace warpscope::ui::images {
namespace {

constexpr int kPieces = 8;  // the colour maps are linear in each

ImU32 colour_at(const ColourBar& bar, int piece) {
  const Rgba colour = bar.colour(static_cast<float>(piece) / kPieces);
  return IM_COL32(colour.r, colour.g, colour.b, 255);
}

float gap(const Frame& frame) {
  return std::floor(6 * frame.scale);
}

ColourBar bar_of(const Conversion& conversion) {
  const std::string range = fmt::format("{:g}", conversion.range);
  if (conversion.difference == Difference::absolute) return {"0", range, magnitude_colour};
  return {fmt::format("-{}", range), fmt::format("+{}", range),
          [](float part) { return signed_colour(2 * part - 1); }};
}

}  // namespace

float colour_bar_width(const Frame& frame, const ColourBar& bar, float width) {
  return text_width(frame.fonts.small, bar.low) + width + text_width(frame.fonts.small, bar.high) +
         2 * gap(frame);
}

void colour_bar(const Frame& frame, const ColourBar& bar, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float baseline = row_baseline(frame, at.y), height = std::floor(8 * frame.scale);
  const float left = std::floor(at.x + text_width(frame.fonts.small, bar.low) + gap(frame));
  const float top = std::floor(at.y + (ImGui::GetFrameHeight() - height) / 2);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  draw_text(list, frame.fonts.small, at.x, baseline, frame.palette.muted, bar.low);
  for (int i = 0; i < kPieces; ++i) {
    const ImVec2 min(left + width * static_cast<float>(i) / kPieces, top);
    const ImVec2 max(left + width * static_cast<float>(i + 1) / kPieces, top + height);
    const ImU32 a = colour_at(bar, i), b = colour_at(bar, i + 1);
    list->AddRectFilledMultiColor(min, max, a, b, b, a);
  }
  draw_text(list, frame.fonts.small, left + width + gap(frame), baseline, frame.palette.muted, bar.high);
  ImGui::Dummy(ImVec2(colour_bar_width(frame, bar, width), ImGui::GetFrameHeight()));
}

float difference_scale_width(const Frame& frame, const Conversion& conversion, float width) {
  return colour_bar_width(frame, bar_of(conversion), width);
}

void difference_scale(const Frame& frame, const Conversion& conversion, float width) {
  colour_bar(frame, bar_of(conversion), width);
}

}  // namespace warpscope::ui::images
