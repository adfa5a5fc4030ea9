#include "ui/docking/layout.h"

#include <algorithm>
#include <cmath>

namespace warpscope::ui {
namespace {

constexpr float kToolbarPadding = 16;  // design pixels, above and below its row together

}  // namespace

Layout arrange(ImVec2 size, float scale, float row, float strip) {
  const float gap = std::floor(kPanelGap * scale), toolbar = std::floor(row + kToolbarPadding * scale);
  const float strip_height = std::floor(strip * scale), width = std::max(1.0f, size.x - 2 * gap);
  const float top = toolbar + gap + (strip > 0 ? strip_height + gap : 0);
  const float bottom = size.y - std::floor(row) - gap;
  return {.toolbar = {0, 0, size.x, toolbar},
          .strip = {gap, toolbar + gap, width, strip_height},
          .panels = {gap, top, width, std::max(1.0f, bottom - top)},
          .status = {0, bottom + gap, size.x, std::max(1.0f, size.y - bottom - gap)}};
}

void place_next_window(const Area& area) {
  ImGui::SetNextWindowPos(ImVec2(area.x, area.y));
  ImGui::SetNextWindowSize(ImVec2(std::max(1.0f, area.w), std::max(1.0f, area.h)));
}

}  // namespace warpscope::ui
