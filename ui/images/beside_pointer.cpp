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

}  // namespace warpscope::ui::images
