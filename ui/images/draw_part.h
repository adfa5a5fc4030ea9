#pragma once
// Draws a rectangle of the atlas on the screen.

#include <cstdint>

#include <imgui.h>

#include "ui/images/atlas.h"

namespace warpscope::ui::images {

/// Draws the texels from `from` up to but not including `to` of an OpenGL texture that holds `atlas` into
/// the rectangle from `min` to `max`, in pixels of the window.
inline void draw_part(ImDrawList* list, unsigned texture, const Atlas& atlas, Point from, Point to,
                      ImVec2 min, ImVec2 max) {
  const auto at = [&](Point texel) {
    return ImVec2(static_cast<float>(texel.x) / static_cast<float>(atlas.texture_width()),
                  static_cast<float>(texel.y) / static_cast<float>(atlas.texture_height()));
  };
  // ImTextureID is a pointer in older versions of Dear ImGui and an integer in newer ones: only this cast
  // fits both.
  list->AddImage((ImTextureID)(std::intptr_t)texture, min, max, at(from), at(to));
}

}  // namespace warpscope::ui::images
