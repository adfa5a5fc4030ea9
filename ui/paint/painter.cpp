#include "ui/paint/painter.h"

// A tile is drawn only if what meets it changed. Triangles are sorted into tiles by walking over all of them
// in drawing order, and four pixels of a tile are drawn at once. The time goes into the pixels of tiles that
// change: some hundreds of a window that trains.

#include <algorithm>
#include <bit>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "ui/paint/raster.h"
#include "ui/paint/tile_canvas.h"

namespace warpscope::ui::paint {
namespace {

/// Hash of everything that the pixels of a triangle depend on. Two triangles that differ have the same hash
/// with a probability of 2^-64.
std::uint64_t triangle_hash(const Scene& scene, const std::uint32_t* index, const Command& command,
                            const Bounds& bounds) {
  using core::kGoldenGamma, core::mix_bits;
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const auto pair = [](std::uint32_t low, std::uint32_t high) {
    return low | static_cast<std::uint64_t>(high) << 32;
  };
  const auto side = [](std::int16_t low, std::int16_t high) {
    return static_cast<std::uint32_t>(static_cast<std::uint16_t>(low)) |
           static_cast<std::uint32_t>(static_cast<std::uint16_t>(high)) << 16;
  };
  // Words are mixed independently and then added: in a chain each would wait for the one before.
  std::uint64_t hash =
      mix_bits(scene.textures[command.texture].version + 1) +
      mix_bits(pair(side(bounds.left, bounds.top), side(bounds.right, bounds.bottom)) + kGoldenGamma);
  std::uint64_t place = 2 * kGoldenGamma;  // so that equal words in different places differ
  for (int i = 0; i < 3; ++i, place += 3 * kGoldenGamma) {
    const Vertex& v = scene.vertices[index[i]];
    hash += mix_bits(pair(bits(v.x), bits(v.y)) + place) +
            mix_bits(pair(bits(v.u), bits(v.v)) + place + kGoldenGamma) +
            mix_bits(v.colour + place + 2 * kGoldenGamma);
  }
  return hash;
}

/// What a triangle adds to the sum of its tile if it is the `order`-th one drawn there.
std::uint64_t ordered_hash(std::uint64_t triangle, int order) {
  return core::mix_bits(triangle + static_cast<std::uint64_t>(order) * core::kGoldenGamma);
}

/// Hash of a tile with this sum over this background; never 0.
std::uint64_t tile_hash(std::uint64_t sum, std::uint32_t background) {
  return core::mix_bits(sum + core::mix_bits(background)) | 1;
}

constexpr std::size_t kTilesAtOnce = 16;
constexpr int kLargestSide = 32752;  // its last tile ends below 2^15
constexpr std::uint32_t kWhite = 0xffffffffu;

Texture texture_of(const TextureStore& store, std::uintptr_t name) {
  const auto found = store.entries().find(name);
  if (found == store.entries().end()) return {&kWhite, 1, 1, false, 0};
  const TextureStore::Entry& entry = found->second;
  return {entry.texels.data(), entry.width, entry.height, entry.linear, entry.version};
}

bool look_alike(const Vertex& a, const Vertex& b) {
  return a.u == b.u && a.v == b.v && a.colour == b.colour;
}

bool same(const Vertex& a, const Vertex& b) {
  return a.x == b.x && a.y == b.y && look_alike(a, b);
}

/// The pixels of a rectangle with opposite corners `a` and `b`: unlike `bounds`, without those whose centres
/// lie on its right or lower edge.
Bounds filled_by(const Vertex& a, const Vertex& b, const Bounds& bounds) {
  const Place p = snap(a), q = snap(b);
  const auto end = [](std::int32_t edge, std::int16_t most) {
    return static_cast<std::int16_t>(std::min((edge + kSteps / 2 - 1) >> 8, static_cast<int>(most)));
  };
  return {bounds.left, bounds.top, end(std::max(p.x, q.x), bounds.right),
          end(std::max(p.y, q.y), bounds.bottom)};
}

/// The colour of a triangle that has only one.
Colour flat_colour(const Scene& scene, const Vertex& corner, const Command& command, Tint& last) {
  const Colour colour = unpack(corner.colour), tint = tint_of(scene, corner, command, last);
  return {colour.r * tint.r, colour.g * tint.g, colour.b * tint.b, colour.a * tint.a};
}

/// Longer edges are not drawn exactly (raster.h).
bool is_near(const Vertex& a, const Vertex& b) {
  constexpr float kFar = 65535.0f;
  return std::abs(a.x - b.x) < kFar && std::abs(a.y - b.y) < kFar;
}

/// True if two triangles that follow one another, a-b-c and a-c-d, are an upright rectangle of one colour:
/// then each pixel of it belongs to one of them, and both have the same bounds.
bool are_rectangle(const Vertex* vertices, const std::uint32_t* index) {
  const Vertex &a = vertices[index[0]], &b = vertices[index[1]], &c = vertices[index[2]];
  if (!same(a, vertices[index[3]]) || !same(c, vertices[index[4]])) return false;
  const Vertex& d = vertices[index[5]];
  if (!is_near(a, c) || !look_alike(a, b) || !look_alike(a, c) || !look_alike(a, d)) return false;
  return (a.y == b.y && b.x == c.x && c.y == d.y && d.x == a.x) ||
         (a.x == b.x && b.y == c.y && c.x == d.x && d.y == a.y);
}

}  // namespace

Helpers::Helpers(unsigned threads) {
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    // As many as the system grants: the caller does what is left.
  }
}

Helpers::~Helpers() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Helpers::take(const std::function<void(std::size_t)>& work, std::size_t count) {
  for (std::size_t i = next_++; i < count; i = next_++) work(i);
}

void Helpers::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    count_ = count;
    next_ = 0;
    ++round_;
  }
  if (count > 1) begun_.notify_all();
  take(work, count);
  std::unique_lock lock(mutex_);
  work_ = nullptr;  // who wakes only now has nothing to do
  left_.wait(lock, [&] { return helping_ == 0; });
}

void Helpers::help() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return ended_ || (work_ != nullptr && round_ != seen); });
    if (ended_) return;
    seen = round_;
    const auto& work = *work_;
    const std::size_t count = count_;
    ++helping_;
    lock.unlock();
    take(work, count);
    lock.lock();
    if (--helping_ == 0) left_.notify_one();
  }
}

// The training and the display's server want cores too.
Painter::Painter() : helpers_(std::min(std::thread::hardware_concurrency() / 4, 2u)) {}

template <class Action>
void Painter::for_each_tile(const Bounds& bounds, Action action) {
  const auto left = static_cast<std::size_t>(bounds.left / kTile),
             right = static_cast<std::size_t>((bounds.right - 1) / kTile);
  const auto top = static_cast<std::size_t>(bounds.top / kTile),
             bottom = static_cast<std::size_t>((bounds.bottom - 1) / kTile);
  for (std::size_t row = top; row <= bottom; ++row) {
    for (std::size_t column = left; column <= right; ++column) action(tiles_[row * columns_ + column]);
  }
}

void Painter::resize(int width, int height) {
  const std::size_t tiles = tiles_along(width) * tiles_along(height);
  tiles_.assign(tiles, {});
  if (width == width_ && height == height_) return;
  width_ = width;
  height_ = height;
  columns_ = tiles_along(width);
  pixels_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  tile_changed_.resize(tiles);
  tile_hashes_.assign(tiles, 0);
}

void Painter::find_triangles(const Scene& scene) {
  visible_.clear();
  for (std::uint32_t number = 0; number < scene.commands.size(); ++number) {
    const Command& command = scene.commands[number];
    std::uint32_t rectangle_end = 0;  // the second half of a rectangle is not the first of another
    for (std::uint32_t t = 0; t < command.triangles; ++t) {
      const std::uint32_t first = command.first_index + 3 * t;
      const std::uint32_t* index = scene.indices + first;
      const Place places[3] = {snap(scene.vertices[index[0]]), snap(scene.vertices[index[1]]),
                               snap(scene.vertices[index[2]])};
      const Bounds bounds = bounds_of(places, command, scene.width, scene.height);
      if (empty(bounds)) continue;
      const bool rectangle =
          t >= rectangle_end && t + 1 < command.triangles && are_rectangle(scene.vertices, index);
      if (rectangle) rectangle_end = t + 2;
      visible_.push_back({first, number, bounds, rectangle, triangle_hash(scene, index, command, bounds)});
    }
  }
}

void Painter::find_changes(const Scene& scene) {
  for (const VisibleTriangle& triangle : visible_) {
    for_each_tile(triangle.bounds, [&](Tile& tile) {
      tile.hash_sum += ordered_hash(triangle.hash, static_cast<int>(tile.triangles++));
    });
  }
  changed_.clear();
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    Tile& tile = tiles_[i];
    const std::uint64_t hash = tile_hash(tile.hash_sum, scene.background);
    tile.changed = tile_hashes_[i] != hash;
    tile_hashes_[i] = hash;
    tile_changed_[i] = tile.changed ? 1 : 0;
    tile.next = first;
    if (!tile.changed) continue;
    first += tile.triangles;
    changed_.push_back(i);
  }
  order_.resize(first);
}

void Painter::sort_into_tiles() {
  for (std::uint32_t i = 0; i < visible_.size(); ++i) {
    for_each_tile(visible_[i].bounds, [&](Tile& tile) {
      if (tile.changed) order_[tile.next++] = i;
    });
  }
}

void Painter::draw_tile(const Scene& scene, std::size_t number) {
  const Tile& tile = tiles_[number];
  const int left = static_cast<int>(number % columns_) * kTile,
            top = static_cast<int>(number / columns_) * kTile;
  TileCanvas canvas;
  canvas.clear(unpack(scene.background));
  Piece piece;
  Tint tint;
  for (std::uint32_t k = tile.next - tile.triangles; k < tile.next; ++k) {
    const VisibleTriangle& triangle = visible_[order_[k]];
    const Command& command = scene.commands[triangle.command];
    const std::uint32_t* index = scene.indices + triangle.first_index;
    if (triangle.rectangle) {
      const Vertex &a = scene.vertices[index[0]], &c = scene.vertices[index[2]];
      canvas.fill(filled_by(a, c, triangle.bounds), flat_colour(scene, a, command, tint), left, top);
      ++k;  // its other half
    } else if (make_piece(scene, index, command, triangle.bounds, left, top, tint, piece)) {
      canvas.draw(scene, piece, left, top);
    }
  }
  canvas.write(pixels_.data(), scene.width, scene.height, left, top);
}

Picture Painter::paint(const Triangles& triangles, const TextureStore& store, std::uint32_t background) {
  const int width = triangles.width, height = triangles.height;
  if (std::min(width, height) < 1 || std::max(width, height) > kLargestSide) {
    throw core::Error(fmt::format("a picture of {} x {} pixels cannot be painted", width, height));
  }
  resize(width, height);
  textures_.clear();
  for (const std::uintptr_t name : triangles.names) textures_.push_back(texture_of(store, name));
  const Scene scene{triangles.vertices.data(),
                    triangles.indices.data(),
                    triangles.commands,
                    textures_.data(),
                    width,
                    height,
                    background};
  find_triangles(scene);
  find_changes(scene);
  sort_into_tiles();
  helpers_.run((changed_.size() + kTilesAtOnce - 1) / kTilesAtOnce, [&](std::size_t part) {
    const std::size_t end = std::min((part + 1) * kTilesAtOnce, changed_.size());
    for (std::size_t i = part * kTilesAtOnce; i < end; ++i) draw_tile(scene, changed_[i]);
  });
  return {pixels_.data(), width, height, tile_changed_};
}

}  // namespace warpscope::ui::paint
