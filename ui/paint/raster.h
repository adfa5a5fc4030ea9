#pragma once
// How a triangle becomes pixels: places, edges, colours and texels.
//
// Places are rounded to 1/256 of a pixel. A pixel is drawn if its centre lies inside the triangle, or on a
// left or upper edge of it (y points down), so that neighbours neither overlap nor leave a gap. For edge a-b
// of a triangle that runs clockwise on the screen
//
//   e(p) = (b.x - a.x) (p.y - a.y) - (b.y - a.y) (p.x - a.x)  >= 0, or > 0 on right and lower edges
//
// exactly, in integers. Colours and texture places are linear in x and y; colours are blended as OpenGL does
// with SRC_ALPHA, ONE_MINUS_SRC_ALPHA, but kept in floats until all is drawn. Source: J. Pineda, "A parallel
// algorithm for polygon rasterization" (1988).

#include <cstdint>

#include "ui/paint/picture.h"
#include "ui/paint/scene.h"

namespace warpscope::ui::paint {

inline constexpr int kSteps = 256;  ///< places in a pixel

struct Place {
  std::int32_t x, y;  ///< in 1/256 of a pixel
};

struct Colour {
  float r, g, b, a;  ///< 0 to 1
};

/// std::floor as an int. Without the instruction for it, which not all CPUs have.
inline int floor_to_int(float value) {
  const int near = static_cast<int>(value);
  return near - (static_cast<float>(near) > value ? 1 : 0);
}

inline Place snap(const Vertex& vertex) {
  constexpr float kFar = 2097152.0f;  // pixels; written so that NaN becomes a place too
  const float x = vertex.x > -kFar ? (vertex.x < kFar ? vertex.x : kFar) : -kFar;
  const float y = vertex.y > -kFar ? (vertex.y < kFar ? vertex.y : kFar) : -kFar;
  return {floor_to_int(x * kSteps + 0.5f), floor_to_int(y * kSteps + 0.5f)};
}

inline int smallest(int a, int b, int c) {
  const int m = a < b ? a : b;
  return m < c ? m : c;
}
inline int largest(int a, int b, int c) {
  const int m = a > b ? a : b;
  return m > c ? m : c;
}

inline bool empty(const Bounds& b) {
  return b.left >= b.right || b.top >= b.bottom;
}

/// The pixels whose centres lie in the rectangle around the triangle, inside `clip` and the picture of
/// `width` x `height`.
inline Bounds bounds_of(const Place (&p)[3], const Command& clip, int width, int height) {
  constexpr int kHalf = kSteps / 2;
  const int left = (smallest(p[0].x, p[1].x, p[2].x) + kHalf - 1) >> 8;
  const int top = (smallest(p[0].y, p[1].y, p[2].y) + kHalf - 1) >> 8;
  const int right = ((largest(p[0].x, p[1].x, p[2].x) - kHalf) >> 8) + 1;
  const int bottom = ((largest(p[0].y, p[1].y, p[2].y) - kHalf) >> 8) + 1;
  const auto part = [](int place, int low, int high) {
    return static_cast<std::int16_t>(place > low ? (place < high ? place : high) : low);
  };
  const Bounds found{part(largest(left, clip.left, 0), 0, width), part(largest(top, clip.top, 0), 0, height),
                     part(smallest(right, clip.right, width), 0, width),
                     part(smallest(bottom, clip.bottom, height), 0, height)};
  return empty(found) ? Bounds{0, 0, 0, 0} : found;
}

inline Colour unpack(std::uint32_t colour) {
  constexpr float kUnit = 1.0f / 255.0f;
  return {static_cast<float>(colour & 255) * kUnit, static_cast<float>(colour >> 8 & 255) * kUnit,
          static_cast<float>(colour >> 16 & 255) * kUnit, static_cast<float>(colour >> 24) * kUnit};
}

inline float clamp_to_unit(float value) {
  return value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f;
}

/// A texel, the nearest one inside.
inline Colour texel(const Texture& t, int x, int y) {
  const int column = x < 0 ? 0 : (x < t.width ? x : t.width - 1);
  const int row = y < 0 ? 0 : (y < t.height ? y : t.height - 1);
  return unpack(t.texels[static_cast<std::int64_t>(row) * t.width + column]);
}

inline Colour mix(const Colour& a, const Colour& b, float part) {
  return {a.r + (b.r - a.r) * part, a.g + (b.g - a.g) * part, a.b + (b.b - a.b) * part,
          a.a + (b.a - a.a) * part};
}

inline Colour sample(const Texture& t, float u, float v) {
  const float x = u * static_cast<float>(t.width), y = v * static_cast<float>(t.height);
  if (!t.linear) return texel(t, floor_to_int(x), floor_to_int(y));
  const int column = floor_to_int(x - 0.5f), row = floor_to_int(y - 0.5f);
  const float across = x - 0.5f - static_cast<float>(column), down = y - 0.5f - static_cast<float>(row);
  return mix(mix(texel(t, column, row), texel(t, column + 1, row), across),
             mix(texel(t, column, row + 1), texel(t, column + 1, row + 1), across), down);
}

/// A value that is linear in x and y: at the tile's first pixel, and what each pixel to the right and down
/// adds.
struct Linear {
  float start, right, down;

  float at(int x, int y) const {
    return start + static_cast<float>(x) * right + static_cast<float>(y) * down;
  }
};

/// A triangle as a tile of kTile x kTile pixels sees it.
struct Piece {
  std::int32_t edge[3], edge_right[3], edge_down[3];  ///< e(p) / 256, rounded down
  Bounds bounds;                                      ///< of the picture
  Linear r, g, b, a;
  Linear u, v;
  int texture;  ///< -1: the colour is all
};

/// The value that is `at0`, `at1` and `at2` at the corners; `first` and `second` are the barycentric
/// coordinates of corners 1 and 2.
inline Linear linear(float at0, float at1, float at2, const Linear& first, const Linear& second) {
  const float d1 = at1 - at0, d2 = at2 - at0;
  return {at0 + d1 * first.start + d2 * second.start, d1 * first.right + d2 * second.right,
          d1 * first.down + d2 * second.down};
}

/// The texel that was sampled last for a triangle of one colour: nearly all take the same one.
struct Tint {
  int texture = -1;
  float u = 0, v = 0;
  Colour colour{1, 1, 1, 1};
};

/// The texel that `corner` is at, for a triangle all of whose corners are at the same one.
inline Colour tint_of(const Scene& scene, const Vertex& corner, const Command& command, Tint& last) {
  if (last.texture != command.texture || last.u != corner.u || last.v != corner.v) {
    last = {command.texture, corner.u, corner.v, sample(scene.textures[command.texture], corner.u, corner.v)};
  }
  return last.colour;
}

/// False if the triangle has no area. `tile_x`, `tile_y`: the tile's first pixel. `bounds`: as bounds_of()
/// gives them.
inline bool make_piece(const Scene& scene, const std::uint32_t* index, const Command& command,
                       const Bounds& bounds, int tile_x, int tile_y, Tint& last, Piece& piece) {
  Vertex corner[3] = {scene.vertices[index[0]], scene.vertices[index[1]], scene.vertices[index[2]]};
  Place p[3] = {snap(corner[0]), snap(corner[1]), snap(corner[2])};
  std::int64_t area = static_cast<std::int64_t>(p[1].x - p[0].x) * (p[2].y - p[0].y) -
                      static_cast<std::int64_t>(p[1].y - p[0].y) * (p[2].x - p[0].x);
  if (area == 0) return false;
  if (area < 0) {
    const Vertex other = corner[1];
    corner[1] = corner[2];
    corner[2] = other;
    const Place place = p[1];
    p[1] = p[2];
    p[2] = place;
    area = -area;
  }
  const std::int32_t x = tile_x * kSteps + kSteps / 2, y = tile_y * kSteps + kSteps / 2;
  constexpr std::int32_t kLongest = 1 << 24;
  Linear share[3];
  for (int i = 0; i < 3; ++i) {
    const Place& from = p[i];
    const Place& to = p[(i + 1) % 3];
    const std::int32_t dx = to.x - from.x, dy = to.y - from.y;
    const std::int64_t exact =
        static_cast<std::int64_t>(dx) * (y - from.y) - static_cast<std::int64_t>(dy) * (x - from.x);
    const bool drawn_on = dy < 0 || (dy == 0 && dx > 0);
    // Edges longer than 2^24 places reach far beyond any picture: their slope is rounded.
    int shift = 0;
    while ((dx >> shift) > kLongest || (dx >> shift) < -kLongest || (dy >> shift) > kLongest ||
           (dy >> shift) < -kLongest)
      ++shift;
    constexpr std::int64_t kMost = 1 << 30;  // more than an edge function changes within a tile
    const std::int64_t start = (exact - (drawn_on ? 0 : 1)) >> (8 + shift);
    piece.edge[i] = static_cast<std::int32_t>(start < -kMost ? -kMost : (start > kMost ? kMost : start));
    piece.edge_right[i] = -(dy >> shift);
    piece.edge_down[i] = dx >> shift;
    const float unit = 1.0f / static_cast<float>(area);
    share[i] = {static_cast<float>(exact) * unit, static_cast<float>(-dy) * kSteps * unit,
                static_cast<float>(dx) * kSteps * unit};
  }
  // The edge from corner 2 to 0 is zero there and the whole area at corner 1; the one from 0 to 1 at corner
  // 2.
  const Linear &first = share[2], &second = share[0];
  const bool plain = corner[0].u == corner[1].u && corner[0].u == corner[2].u && corner[0].v == corner[1].v &&
                     corner[0].v == corner[2].v;
  const Colour tint = plain ? tint_of(scene, corner[0], command, last) : Colour{1, 1, 1, 1};
  const Colour c0 = unpack(corner[0].colour), c1 = unpack(corner[1].colour), c2 = unpack(corner[2].colour);
  piece.r = linear(c0.r * tint.r, c1.r * tint.r, c2.r * tint.r, first, second);
  piece.g = linear(c0.g * tint.g, c1.g * tint.g, c2.g * tint.g, first, second);
  piece.b = linear(c0.b * tint.b, c1.b * tint.b, c2.b * tint.b, first, second);
  piece.a = linear(c0.a * tint.a, c1.a * tint.a, c2.a * tint.a, first, second);
  piece.u = linear(corner[0].u, corner[1].u, corner[2].u, first, second);
  piece.v = linear(corner[0].v, corner[1].v, corner[2].v, first, second);
  piece.bounds = bounds;
  piece.texture = plain ? -1 : command.texture;
  return true;
}

}  // namespace warpscope::ui::paint
