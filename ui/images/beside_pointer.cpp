#include "ui/images/beside_pointer.h"

#include <algorithm>
#include <cmath>

namespace warpscope::ui::images {

ImVec2 beside_pointer(ImVec2 size, float scale) {
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  const ImVec2 window = ImGui::GetIO().DisplaySize;
  const float away = 24 * scale;
  const float margin = 4 * scale;
  const auto inside = [margin](float wanted, float length, float room) {
    return std::floor(std::max(margin, std::min(wanted, room - length - margin)));
  };
  const float x = inside(pointer.x - size.x / 2, size.x, window.x);
  if (pointer.y + away + size.y + margin <= window.y) return {x, std::floor(pointer.y + away)};
  if (pointer.y - away - size.y >= margin) return {x, std::floor(pointer.y - away - size.y)};
  const float y = inside(pointer.y - size.y / 2, size.y, window.y);
  if (pointer.x - away - size.x >= margin) return {std::floor(pointer.x - away - size.x), y};
  if (pointer.x + away + size.x + margin <= window.x) return {std::floor(pointer.x + away), y};
  return {x, pointer.y > window.y / 2 ? margin : inside(window.y, size.y, window.y)};
}

ImVec2 beside_area(ImVec2 size, ImVec2 min, ImVec2 max, float scale) {
  const ImVec2 pointer = ImGui::GetIO().MousePos, window = ImGui::GetIO().DisplaySize;
  const float gap = std::floor(4 * scale);
  const auto inside = [gap](float wanted, float length, float room) {
    return std::floor(std::max(gap, std::min(wanted, room - length - gap)));
  };
  const float x = inside(pointer.x - size.x / 2, size.x, window.x);
  const float y = inside(pointer.y - size.y / 2, size.y, window.y);
  if (max.y + 2 * gap + size.y <= window.y) return {x, std::floor(max.y + gap)};
  if (min.y - 2 * gap - size.y >= 0) return {x, std::floor(min.y - gap - size.y)};
  if (min.x - 2 * gap - size.x >= 0) return {std::floor(min.x - gap - size.x), y};
  if (max.x + 2 * gap + size.x <= window.x) return {std::floor(max.x + gap), y};
  return beside_pointer(size, scale);
}

}  // namespace warpscope::ui::images
