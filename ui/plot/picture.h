#pragma once
// Draws into a picture instead of the window, at another scale and with fonts made for it. Needs neither a
// display nor OpenGL.

#include <functional>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/paint/picture.h"
#include "ui/widgets/fonts.h"

namespace warpscope::ui::plot {

/// Rows from the top; red, green and blue of each pixel.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<unsigned char> pixels;
};

/// What draws: the frame has the picture's scale and fonts, the rectangle is all of it. No pointer is over
/// anything.
using Painter = std::function<void(const Frame& frame, ImVec2 min, ImVec2 max)>;

/// What `draw` draws into the current ImGui window, which begins at (0, 0) and has `size` units, each
/// `density` pixels wide, on the background of a panel. Runs it once in a Dear ImGui context of its own, with fonts of
/// that scale. Throws core::Error.
Picture draw_alone(ImVec2 size, float scale, float density, const Palette& palette,
                   const std::function<void(const Fonts&)>& draw);

/// What `painter` draws, on a panel's background. `size` is in pixels of the window; the picture has `factor`
/// times as many, and `density` pixels for each where the framebuffer is finer than the window. Throws
/// core::Error.
Picture draw_picture(const Frame& frame, ImVec2 size, float factor, float density, const Painter& painter);

/// What the CPU painted, without its alpha channel.
Picture rgb_of(const paint::Picture& painted);

/// As a PNG file. Throws core::Error.
std::string encode_png(const Picture& picture);

}  // namespace warpscope::ui::plot
