#pragma once
// What a frame consists of, as the painter takes it: triangles of Dear ImGui's draw lists, in drawing order.

#include <cstdint>
#include <span>

namespace warpscope::ui::paint {

/// As ImDrawVert: a place in framebuffer pixels, a place in the texture (0 to 1), a colour with red in the
/// lowest byte.
struct Vertex {
  float x, y;
  float u, v;
  std::uint32_t colour;
};

/// Triangles that share a texture and a rectangle outside of which nothing is drawn.
struct Command {
  int left, top, right, bottom;  ///< of the rectangle, pixels, right and bottom excluded
  int texture;                   ///< in the table of textures
  std::uint32_t first_index = 0;
  std::uint32_t triangles = 0;
};

/// RGBA8 texels row by row.
struct Texture {
  const std::uint32_t* texels;
  int width, height;
  bool linear;            ///< else the nearest texel
  std::uint64_t version;  ///< another one if anything of it changed
};

/// Everything that is drawn.
struct Scene {
  const Vertex* vertices;
  const std::uint32_t* indices;  ///< three to a triangle
  std::span<const Command> commands;
  const Texture* textures;
  int width, height;         ///< of the picture, pixels
  std::uint32_t background;  ///< colour of the picture before anything is drawn
};

/// Pixels, right and bottom excluded; empty unless left < right and top < bottom.
struct Bounds {
  std::int16_t left, top, right, bottom;
};

}  // namespace warpscope::ui::paint
