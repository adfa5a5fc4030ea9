#pragma once
// Pictures of triangles in double precision, pixel by pixel: what the painter is compared with.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ui/paint/draw_list.h"
#include "ui/paint/texture_store.h"

namespace warpscope::ui::paint {

using Channels = std::array<double, 4>;

inline Channels channels(std::uint32_t colour) {
  Channels result{};
  for (int i = 0; i < 4; ++i) result[static_cast<std::size_t>(i)] = (colour >> (8 * i) & 255) / 255.0;
  return result;
}

/// A corner, its place rounded to 1/256 of a pixel.
struct Corner {
  double x, y, u, v;
  Channels colour;
};

inline Corner corner(const Vertex& vertex) {
  const auto place = [](float value) { return std::floor(value * 256.0 + 0.5) / 256.0; };
  return {place(vertex.x), place(vertex.y), vertex.u, vertex.v, channels(vertex.colour)};
}

/// Twice the area of a-b-p; positive if they turn clockwise on the screen.
inline double cross(const Corner& a, const Corner& b, double x, double y) {
  return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
}

inline bool owns(const Corner& a, const Corner& b, double x, double y) {
  const double side = cross(a, b, x, y);
  const bool left = b.y < a.y, upper = b.y == a.y && b.x > a.x;
  return side > 0 || (side == 0 && (left || upper));
}

inline Channels double_texel(const TextureStore::Entry& texture, double column, double row) {
  const auto x = static_cast<std::size_t>(std::clamp(column, 0.0, texture.width - 1.0));
  const auto y = static_cast<std::size_t>(std::clamp(row, 0.0, texture.height - 1.0));
  return channels(texture.texels[y * static_cast<std::size_t>(texture.width) + x]);
}

inline Channels double_sample(const TextureStore::Entry& texture, double u, double v) {
  const double x = u * texture.width, y = v * texture.height;
  if (!texture.linear) return double_texel(texture, std::floor(x), std::floor(y));
  const double left = std::floor(x - 0.5), top = std::floor(y - 0.5);
  Channels result{};
  for (int i = 0; i < 4; ++i) {
    const double across = i % 2 == 1 ? x - 0.5 - left : 1 - (x - 0.5 - left);
    const double down = i / 2 == 1 ? y - 0.5 - top : 1 - (y - 0.5 - top);
    const Channels texel = double_texel(texture, left + i % 2, top + i / 2);
    for (std::size_t c = 0; c < 4; ++c) result[c] += across * down * texel[c];
  }
  return result;
}

/// One triangle on one pixel.
inline void double_draw(const std::array<Corner, 3>& t, const TextureStore::Entry& texture, double x,
                        double y, Channels& pixel) {
  const double area = cross(t[0], t[1], t[2].x, t[2].y);
  if (area == 0) return;
  const std::array<Corner, 3> turned = area > 0 ? t : std::array<Corner, 3>{t[0], t[2], t[1]};
  const double twice_the_area = std::abs(area);
  for (std::size_t i = 0; i < 3; ++i) {
    if (!owns(turned[i], turned[(i + 1) % 3], x, y)) return;
  }
  std::array<double, 3> share{};
  for (std::size_t i = 0; i < 3; ++i)
    share[i] = cross(turned[(i + 1) % 3], turned[(i + 2) % 3], x, y) / twice_the_area;
  double u = 0, v = 0;
  Channels colour{};
  for (std::size_t i = 0; i < 3; ++i) {
    u += share[i] * turned[i].u;
    v += share[i] * turned[i].v;
    for (std::size_t c = 0; c < 4; ++c) colour[c] += share[i] * turned[i].colour[c];
  }
  const Channels texel = double_sample(texture, u, v);
  for (std::size_t c = 0; c < 4; ++c) colour[c] *= texel[c];
  const double alpha = colour[3];
  for (std::size_t c = 0; c < 3; ++c) pixel[c] = colour[c] * alpha + pixel[c] * (1 - alpha);
  pixel[3] = alpha + pixel[3] * (1 - alpha);
}

/// The whole picture, channels from 0 to 255.
inline std::vector<Channels> double_picture(const Triangles& scene, const TextureStore& store,
                                            std::uint32_t background) {
  std::vector<Channels> picture;
  for (int row = 0; row < scene.height; ++row) {
    for (int column = 0; column < scene.width; ++column) {
      Channels pixel = channels(background);
      for (const Command& command : scene.commands) {
        if (column < command.left || column >= command.right || row < command.top || row >= command.bottom)
          continue;
        const TextureStore::Entry& texture =
            store.entries().at(scene.names[static_cast<std::size_t>(command.texture)]);
        for (std::uint32_t i = 0; i < command.triangles; ++i) {
          const std::uint32_t* index = scene.indices.data() + command.first_index + 3 * i;
          double_draw({corner(scene.vertices[index[0]]), corner(scene.vertices[index[1]]),
                       corner(scene.vertices[index[2]])},
                      texture, column + 0.5, row + 0.5, pixel);
        }
      }
      for (double& channel : pixel) channel *= 255;
      picture.push_back(pixel);
    }
  }
  return picture;
}

}  // namespace warpscope::ui::paint
