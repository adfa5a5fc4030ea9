#pragma once
// Places that take clicks.

#include <algorithm>

#include <imgui.h>

namespace warpscope::ui {

/// ImGui::InvisibleButton, which must have a size: here it is a pixel at least, however small the window is.
inline bool hit_area(const char* name, ImVec2 size, ImGuiButtonFlags flags = 0) {
  return ImGui::InvisibleButton(name, ImVec2(std::max(size.x, 1.0f), std::max(size.y, 1.0f)), flags);
}

}  // namespace warpscope::ui
