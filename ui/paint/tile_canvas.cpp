#include "ui/paint/tile_canvas.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace warpscope::ui::paint {
namespace {

constexpr Ints kLane = {0, 1, 2, 3};
constexpr Floats kFloatLane = {0, 1, 2, 3};

Floats all(float value) {
  return Floats{value, value, value, value};
}

Ints all(std::int32_t value) {
  return Ints{value, value, value, value};
}

/// Where the mask has ones `yes`, else `no`.
Floats choose(const Ints& mask, const Floats& yes, const Floats& no) {
  return reinterpret_cast<Floats>((reinterpret_cast<Ints>(yes) & mask) |
                                  (reinterpret_cast<Ints>(no) & ~mask));
}

bool any(const Ints& mask) {
  std::uint64_t halves[2];
  std::memcpy(halves, &mask, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

Floats clamp_to_unit(const Floats& value) {
  const Floats zero = all(0.0f), one = all(1.0f);
  const Floats above = choose(value > zero, value, zero);
  return choose(above < one, above, one);
}

/// Linear::at() in columns x to x + 3.
Floats at(const Linear& value, const Floats& x, int y) {
  return (all(value.start) + x * all(value.right)) + all(static_cast<float>(y) * value.down);
}

/// From 0 to `end` - 1.
Ints clamp_index(const Ints& value, std::int32_t end) {
  const Ints last = all(end - 1);
  const Ints below = (value & (value < last)) | (last & ~(value < last));
  return below & (below > 0);
}

Floats floats(const Ints& value) {
  return __builtin_convertvector(value, Floats);
}

/// As of raster.h, of four numbers.
Ints floor_to_int(const Floats& value) {
  const Ints near = __builtin_convertvector(value, Ints);
  return near + (floats(near) > value);  // true is -1
}

/// Four texels, as texel() of raster.h finds them.
inline Four texels(const Texture& t, const Ints& x, const Ints& y) {
  const Ints column = clamp_index(x, t.width), row = clamp_index(y, t.height);
  std::int32_t columns[kLanes], rows[kLanes];
  std::memcpy(columns, &column, sizeof columns);
  std::memcpy(rows, &row, sizeof rows);
  const auto one = [&](int i) {
    return static_cast<std::int32_t>(t.texels[static_cast<std::int64_t>(rows[i]) * t.width + columns[i]]);
  };
  const Ints found{one(0), one(1), one(2), one(3)};
  const Ints low = all(255);
  const Floats unit = all(1.0f / 255.0f);
  return {floats(found & low) * unit, floats(found >> 8 & low) * unit, floats(found >> 16 & low) * unit,
          floats(found >> 24 & low) * unit};
}

Four mix(const Four& a, const Four& b, const Floats& part) {
  return {a.r + (b.r - a.r) * part, a.g + (b.g - a.g) * part, a.b + (b.b - a.b) * part,
          a.a + (b.a - a.a) * part};
}

/// As sample() of raster.h.
Four sample(const Texture& t, const Floats& u, const Floats& v) {
  const Floats x = u * all(static_cast<float>(t.width)), y = v * all(static_cast<float>(t.height));
  if (!t.linear) return texels(t, floor_to_int(x), floor_to_int(y));
  const Floats half = all(0.5f);
  const Ints column = floor_to_int(x - half), row = floor_to_int(y - half);
  const Floats across = x - half - floats(column), down = y - half - floats(row);
  return mix(mix(texels(t, column, row), texels(t, column + 1, row), across),
             mix(texels(t, column, row + 1), texels(t, column + 1, row + 1), across), down);
}

inline void blend(const Ints& mask, const Four& colour, Four& pixels) {
  const Floats rest = all(1.0f) - colour.a;
  pixels.r = choose(mask, colour.r * colour.a + pixels.r * rest, pixels.r);
  pixels.g = choose(mask, colour.g * colour.a + pixels.g * rest, pixels.g);
  pixels.b = choose(mask, colour.b * colour.a + pixels.b * rest, pixels.b);
  pixels.a = choose(mask, colour.a + pixels.a * rest, pixels.a);
}

bool level(const Linear& value) {
  return value.right == 0 && value.down == 0;
}

/// The edges are straight: if the corners of the tile lie inside, so does all of it.
bool covers(const Piece& piece, int left, int top) {
  const Bounds& b = piece.bounds;
  if (b.left > left || b.top > top || b.right < left + kTile || b.bottom < top + kTile) return false;
  constexpr int kLast = kTile - 1;
  for (int i = 0; i < 3; ++i) {
    const std::int32_t corner = piece.edge[i], right = kLast * piece.edge_right[i],
                       down = kLast * piece.edge_down[i];
    if (std::min({corner, corner + right, corner + down, corner + right + down}) < 0) return false;
  }
  return true;
}

}  // namespace

void TileCanvas::clear(const Colour& colour) {
  const Four four{all(colour.r), all(colour.g), all(colour.b), all(colour.a)};
  for (auto& row : rows_) std::fill(std::begin(row), std::end(row), four);
}

void TileCanvas::cover(const Four& colour) {
  const bool opaque = colour.a[0] == 1.0f;
  const Ints everywhere = all(-1);
  for (auto& row : rows_) {
    for (Four& four : row) {
      if (opaque) {
        four = colour;
      } else {
        blend(everywhere, colour, four);
      }
    }
  }
}

void TileCanvas::fill(const Bounds& bounds, const Colour& plain, int left, int top) {
  const Four colour{clamp_to_unit(all(plain.r)), clamp_to_unit(all(plain.g)), clamp_to_unit(all(plain.b)),
                    clamp_to_unit(all(plain.a))};
  const int first = std::max(bounds.left - left, 0), end = std::min(bounds.right - left, kTile);
  const int from = std::max(bounds.top - top, 0), to = std::min(bounds.bottom - top, kTile);
  if (first == 0 && end == kTile && from == 0 && to == kTile) {
    cover(colour);
    return;
  }
  for (int four = first / kLanes; four * kLanes < end; ++four) {
    const Ints x = all(four * kLanes) + kLane;
    const Ints mask = (x >= all(first)) & (x < all(end));
    for (int y = from; y < to; ++y) blend(mask, colour, rows_[y][four]);
  }
}

void TileCanvas::draw(const Scene& scene, const Piece& piece, int left, int top) {
  const int first = std::max(piece.bounds.left - left, 0), end = std::min(piece.bounds.right - left, kTile);
  const int from = std::max(piece.bounds.top - top, 0), to = std::min(piece.bounds.bottom - top, kTile);
  const bool flat = level(piece.r) && level(piece.g) && level(piece.b) && level(piece.a);
  const Four plain{clamp_to_unit(all(piece.r.start)), clamp_to_unit(all(piece.g.start)),
                   clamp_to_unit(all(piece.b.start)), clamp_to_unit(all(piece.a.start))};
  const Texture* const texture = piece.texture >= 0 ? scene.textures + piece.texture : nullptr;
  if (flat && texture == nullptr && covers(piece, left, top)) {
    cover(plain);
    return;
  }
  Ints beside[3];  // what each of four columns adds to the edge functions
  for (int i = 0; i < 3; ++i) beside[i] = kLane * all(piece.edge_right[i]);
  std::int32_t best[3];  // the edge functions where they are largest in a row
  for (int i = 0; i < 3; ++i) {
    best[i] = piece.edge[i] + (piece.edge_right[i] > 0 ? end - 1 : first) * piece.edge_right[i];
  }
  for (int y = from; y < to; ++y) {
    if (((best[0] + y * piece.edge_down[0]) | (best[1] + y * piece.edge_down[1]) |
         (best[2] + y * piece.edge_down[2])) < 0)
      continue;
    for (int four = first / kLanes; four * kLanes < end; ++four) {
      Ints outside = all(0);  // negative
      for (int i = 0; i < 3; ++i) {
        outside |=
            beside[i] + all(piece.edge[i] + four * kLanes * piece.edge_right[i] + y * piece.edge_down[i]);
      }
      const Ints x = all(four * kLanes) + kLane;
      const Ints mask = (outside >= all(0)) & (x >= all(first)) & (x < all(end));
      if (!any(mask)) continue;
      Four colour = plain;
      if (!flat || texture != nullptr) {
        const Floats columns = all(static_cast<float>(four * kLanes)) + kFloatLane;
        if (!flat) {
          colour = {clamp_to_unit(at(piece.r, columns, y)), clamp_to_unit(at(piece.g, columns, y)),
                    clamp_to_unit(at(piece.b, columns, y)), clamp_to_unit(at(piece.a, columns, y))};
        }
        if (texture != nullptr) {
          // Outside a narrow triangle they may be too large to be made integers.
          const Floats zero = all(0.0f);
          const Four s = sample(*texture, choose(mask, at(piece.u, columns, y), zero),
                                choose(mask, at(piece.v, columns, y), zero));
          colour = {colour.r * s.r, colour.g * s.g, colour.b * s.b, colour.a * s.a};
        }
      }
      blend(mask, colour, rows_[y][four]);
    }
  }
}

void TileCanvas::write(std::uint32_t* pixels, int width, int height, int left, int top) const {
  const int columns = std::min(kTile, width - left), rows = std::min(kTile, height - top);
  const auto bytes = [](const Floats& value) {
    return __builtin_convertvector(clamp_to_unit(value) * all(255.0f) + all(0.5f), Ints);
  };
  for (int y = 0; y < rows; ++y) {
    Ints packed[kFours];
    for (int i = 0; i < kFours; ++i) {
      const Four& four = rows_[y][i];
      packed[i] = bytes(four.r) | bytes(four.g) << 8 | bytes(four.b) << 16 | bytes(four.a) << 24;
    }
    std::memcpy(pixels + static_cast<std::ptrdiff_t>(top + y) * width + left, packed,
                static_cast<std::size_t>(columns) * sizeof(std::uint32_t));
  }
}

}  // namespace warpscope::ui::paint
