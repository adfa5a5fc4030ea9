// The painter on the CPU. As on CUDA a tile is drawn only if what meets it changed; its triangles are sorted out by walking over
// all triangles in drawing order, and four pixels of a tile are drawn at once. Bound by the pixels of tiles that change: some
// hundreds of a window that trains.

#include "ui/paint/host_raster.h"

#include <algorithm>
#include <cmath>

#include "ui/paint/raster.h"
#include "ui/paint/tile_canvas.h"

namespace warpscope::ui::paint {
namespace {

constexpr std::size_t kTilesAtOnce = 16;

bool look_alike(const Vertex& a, const Vertex& b) {
  return a.u == b.u && a.v == b.v && a.colour == b.colour;
}

bool same(const Vertex& a, const Vertex& b) {
  return a.x == b.x && a.y == b.y && look_alike(a, b);
}

/// The pixels of a rectangle with opposite corners `a` and `b`: unlike `bounds`, without those whose centres lie on its right or
/// lower edge.
Bounds filled_by(const Vertex& a, const Vertex& b, const Bounds& bounds) {
  const Place p = snap(a), q = snap(b);
  const auto end = [](std::int32_t edge, std::int16_t most) {
    return static_cast<std::int16_t>(std::min((edge + kSteps / 2 - 1) >> 8, static_cast<int>(most)));
  };
  return {bounds.left, bounds.top, end(std::max(p.x, q.x), bounds.right),
          end(std::max(p.y, q.y), bounds.bottom)};
}

/// Of a triangle of one colour.
Colour flat_colour(const Scene& scene, const Vertex& corner, const Command& command, Tint& last) {
  const Colour colour = unpack(corner.colour), tint = tint_of(scene, corner, command, last);
  return {colour.r * tint.r, colour.g * tint.g, colour.b * tint.b, colour.a * tint.a};
}

/// Longer edges are not drawn exactly (raster.h).
bool is_near(const Vertex& a, const Vertex& b) {
  constexpr float kFar = 65535.0f;
  return std::abs(a.x - b.x) < kFar && std::abs(a.y - b.y) < kFar;
}

/// Two triangles that follow one another, a-b-c and a-c-d, are an upright rectangle of one colour: each of its pixels belongs to
/// one of them, and both have the same bounds.
bool are_rectangle(const Vertex* vertices, const std::uint32_t* index) {
  const Vertex &a = vertices[index[0]], &b = vertices[index[1]], &c = vertices[index[2]];
  if (!same(a, vertices[index[3]]) || !same(c, vertices[index[4]])) return false;
  const Vertex& d = vertices[index[5]];
  if (!is_near(a, c) || !look_alike(a, b) || !look_alike(a, c) || !look_alike(a, d)) return false;
  return (a.y == b.y && b.x == c.x && c.y == d.y && d.x == a.x) ||
         (a.x == b.x && b.y == c.y && c.x == d.x && d.y == a.y);
}

}  // namespace

// The training and the display's server want cores too.
HostRaster::HostRaster() : helpers_(std::min(std::thread::hardware_concurrency() / 4, 2u)) {}

template <class Action>
void HostRaster::for_each_tile(const Bounds& bounds, Action action) {
  const auto left = static_cast<std::size_t>(bounds.left / kTile),
             right = static_cast<std::size_t>((bounds.right - 1) / kTile);
  const auto top = static_cast<std::size_t>(bounds.top / kTile),
             bottom = static_cast<std::size_t>((bounds.bottom - 1) / kTile);
  for (std::size_t row = top; row <= bottom; ++row) {
    for (std::size_t column = left; column <= right; ++column) action(tiles_[row * columns_ + column]);
  }
}

void HostRaster::find_triangles(const Scene& scene) {
  found_.clear();
  for (int i = 0; i < scene.chunk_count; ++i) {
    const Chunk& chunk = scene.chunks[i];
    const Command& command = scene.commands[chunk.command];
    std::size_t rectangle_ends = 0;
    for (std::uint32_t t = 0; t < chunk.triangles; ++t) {
      const std::uint32_t first = chunk.first_index + 3 * t;
      const std::uint32_t* index = scene.indices + first;
      const Place places[3] = {snap(scene.vertices[index[0]]), snap(scene.vertices[index[1]]),
                               snap(scene.vertices[index[2]])};
      const Bounds bounds = bounds_of(places, command, scene.width, scene.height);
      if (empty(bounds)) continue;
      const bool second = rectangle_ends == t && t > 0;
      const bool rectangle = !second && t + 1 < chunk.triangles && are_rectangle(scene.vertices, index);
      if (rectangle) rectangle_ends = t + 1;
      found_.push_back({first, chunk.command, bounds, rectangle, mark_of(scene, index, command, bounds)});
    }
  }
}

void HostRaster::compare(const RasterCall& call) {
  for (const Found& triangle : found_) {
    for_each_tile(triangle.bounds, [&](Tile& tile) {
      tile.added += added_mark(triangle.mark, static_cast<int>(tile.triangles++));
    });
  }
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    Tile& tile = tiles_[i];
    const std::uint64_t mark = tile_mark(tile.added, call.scene.background);
    tile.changed = call.tile_marks[i] != mark;
    call.tile_marks[i] = mark;
    call.tile_changed[i] = tile.changed ? 1 : 0;
    tile.next = first;
    if (tile.changed) first += tile.triangles;
  }
  order_.resize(first);
}

void HostRaster::sort_into_tiles() {
  for (std::uint32_t i = 0; i < found_.size(); ++i) {
    for_each_tile(found_[i].bounds, [&](Tile& tile) {
      if (tile.changed) order_[tile.next++] = i;
    });
  }
}

void HostRaster::draw_tile(const RasterCall& call, std::size_t number) const {
  const Scene& scene = call.scene;
  const Tile& tile = tiles_[number];
  const int left = static_cast<int>(number % columns_) * kTile,
            top = static_cast<int>(number / columns_) * kTile;
  TileCanvas canvas;
  canvas.clear(unpack(scene.background));
  Piece piece;
  Tint tint;
  for (std::uint32_t k = tile.next - tile.triangles; k < tile.next; ++k) {
    const Found& triangle = found_[order_[k]];
    if (triangle.rectangle) {
      const std::uint32_t* index = scene.indices + triangle.first_index;
      const Vertex &a = scene.vertices[index[0]], &c = scene.vertices[index[2]];
      canvas.fill(filled_by(a, c, triangle.bounds),
                  flat_colour(scene, a, scene.commands[triangle.command], tint), left, top);
      ++k;  // its other half
      continue;
    }
    if (make_piece(scene, scene.indices + triangle.first_index, scene.commands[triangle.command],
                   triangle.bounds, left, top, tint, piece)) {
      canvas.draw(scene, piece, left, top);
    }
  }
  canvas.write(call.pixels, scene.width, scene.height, left, top);
}

void HostRaster::draw(const RasterCall& call) {
  columns_ = tiles_along(call.scene.width);
  tiles_.assign(columns_ * tiles_along(call.scene.height), {});
  find_triangles(call.scene);
  compare(call);
  sort_into_tiles();
  changed_.clear();
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    if (tiles_[i].changed) changed_.push_back(i);
  }
  helpers_.run((changed_.size() + kTilesAtOnce - 1) / kTilesAtOnce, [&](std::size_t part) {
    const std::size_t end = std::min((part + 1) * kTilesAtOnce, changed_.size());
    for (std::size_t i = part * kTilesAtOnce; i < end; ++i) draw_tile(call, changed_[i]);
  });
}

}  // namespace warpscope::ui::paint
