#pragma once
// Draws into a picture instead of the window, at another scale and with fonts made for it.

#include <functional>
#include <string>
#include <vector>

#include "ui/frame.h"

namespace warpscope::ui::plot {

/// Rows from the bottom up, as OpenGL gives them; three bytes a pixel.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<unsigned char> pixels;
};

/// What draws: the frame has the picture's scale and fonts, the rectangle is all of it. No pointer is over anything.
using Painter = std::function<void(const Frame& frame, ImVec2 min, ImVec2 max)>;

/// Runs `painter` once in a Dear ImGui context of its own and gives what it drew on a panel's background. `size` is in
/// pixels of the window; the picture has `factor` times as many, and `density` pixels for each where the framebuffer is
/// finer than the window. Needs the window's OpenGL context, which is left as it was. Throws core::Error.
Picture draw_picture(const Frame& frame, ImVec2 size, float factor, float density, const Painter& painter);

/// As a PNG file. Throws core::Error.
std::string encode_png(const Picture& picture);

}  // namespace warpscope::ui::plot
