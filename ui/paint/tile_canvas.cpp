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

Floats within(const Floats& value) {
  const Floats zero = all(0.0f), one = all(1.0f);
  const Floats above = choose(value > zero, value, zero);
  return choose(above < one, above, one);
}

/// Linear::at() in columns x to x + 3, within 0 and 1.
Floats colour_at(const Linear& value, const Floats& x, int y) {
  return within((all(value.start) + x * all(value.right)) + all(static_cast<float>(y) * value.down));
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

void TileCanvas::blend(const Ints& mask, const Four& colour, Four& pixels) {
  const Floats rest = all(1.0f) - colour.a;
  pixels.r = choose(mask, colour.r * colour.a + pixels.r * rest, pixels.r);
  pixels.g = choose(mask, colour.g * colour.a + pixels.g * rest, pixels.g);
  pixels.b = choose(mask, colour.b * colour.a + pixels.b * rest, pixels.b);
  pixels.a = choose(mask, colour.a + pixels.a * rest, pixels.a);
}

void TileCanvas::cover(const Four& colour) {
  const bool opaque = colour.a[0] == 1.0f;
  const Ints whole = all(-1);
  for (auto& row : rows_) {
    for (Four& four : row) {
      if (opaque) {
        four = colour;
      } else {
        blend(whole, colour, four);
      }
    }
  }
}

void TileCanvas::fill(const Bounds& bounds, const Colour& plain, int left, int top) {
  const Four colour{within(all(plain.r)), within(all(plain.g)), within(all(plain.b)), within(all(plain.a))};
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
  Four colour{within(all(piece.r.start)), within(all(piece.g.start)), within(all(piece.b.start)),
              within(all(piece.a.start))};
  const Texture* const texture = piece.texture >= 0 ? scene.textures + piece.texture : nullptr;
  if (flat && texture == nullptr && covers(piece, left, top)) {
    cover(colour);
    return;
  }
  Ints beside[3];  // of the edges, what columns add to the first of four
  for (int i = 0; i < 3; ++i) beside[i] = kLane * all(piece.edge_right[i]);
  std::int32_t best[3];  // of the edges, at the innermost of the columns
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
      if (!flat || texture != nullptr) {
        const Floats columns = all(static_cast<float>(four * kLanes)) + kFloatLane;
        colour = {colour_at(piece.r, columns, y), colour_at(piece.g, columns, y),
                  colour_at(piece.b, columns, y), colour_at(piece.a, columns, y)};
      }
      for (int lane = 0; texture != nullptr && lane < kLanes; ++lane) {
        if (mask[lane] == 0) continue;
        const int column = four * kLanes + lane;
        const Colour s = sample(*texture, piece.u.at(column, y), piece.v.at(column, y));
        colour.r[lane] *= s.r;
        colour.g[lane] *= s.g;
        colour.b[lane] *= s.b;
        colour.a[lane] *= s.a;
      }
      blend(mask, colour, rows_[y][four]);
    }
  }
}

void TileCanvas::write(std::uint32_t* pixels, int width, int height, int left, int top) const {
  const int columns = std::min(kTile, width - left), rows = std::min(kTile, height - top);
  const auto bytes = [](const Floats& value) {
    return __builtin_convertvector(within(value) * all(255.0f) + all(0.5f), Ints);
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
