#include "ui/images/difference_scale.h"

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "ui/widgets.h"

namespace warpscope::ui::images {
namespace {

struct Ends {
  std::string low;
  std::string high;
};

Ends ends(const Conversion& conversion) {
  const std::string range = fmt::format("{:g}", conversion.range);
  if (conversion.difference == Difference::absolute) return {"0", range};
  return {"-" + range, "+" + range};
}

ImU32 colour_at(const Conversion& conversion, float part) {
  const Rgba colour =
      conversion.difference == Difference::absolute ? magnitude_colour(part) : signed_colour(2 * part - 1);
  return IM_COL32(colour.r, colour.g, colour.b, 255);
}

}  // namespace

float difference_scale_width(const Frame& frame, const Conversion& conversion, float width) {
  const Ends text = ends(conversion);
  return text_width(frame.fonts.small, text.low) + width + text_width(frame.fonts.small, text.high) +
         2 * std::floor(6 * frame.scale);
}

void difference_scale(const Frame& frame, const Conversion& conversion, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Ends text = ends(conversion);
  const float gap = std::floor(6 * frame.scale);
  const float baseline = row_baseline(frame, at.y);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  draw_text(list, frame.fonts.small, at.x, baseline, frame.palette.muted, text.low);
  const float left = std::floor(at.x + text_width(frame.fonts.small, text.low) + gap);
  const float height = std::floor(8 * frame.scale);
  const float top = std::floor(at.y + (ImGui::GetFrameHeight() - height) / 2);
  // One piece for each linear segment of the colour map, so that the bar has exactly its colours.
  constexpr int kPieces = 8;
  for (int i = 0; i < kPieces; ++i) {
    const float from = static_cast<float>(i) / kPieces;
    const float to = static_cast<float>(i + 1) / kPieces;
    const ImU32 a = colour_at(conversion, from);
    const ImU32 b = colour_at(conversion, to);
    list->AddRectFilledMultiColor(ImVec2(left + width * from, top), ImVec2(left + width * to, top + height),
                                  a, b, b, a);
  }
  draw_text(list, frame.fonts.small, left + width + gap, baseline, frame.palette.muted, text.high);
  ImGui::Dummy(ImVec2(difference_scale_width(frame, conversion, width), ImGui::GetFrameHeight()));
}

}  // namespace warpscope::ui::images
