// The painter on the CPU: tile by tile as on CUDA, one thread. For tests, and where no GPU trains.

#include "ui/paint/raster.h"
#include "ui/paint/raster_kernels.h"

namespace warpscope::ui::paint {
namespace {

Bounds together(const Bounds& a, const Bounds& b) {
  if (empty(a)) return b;
  if (empty(b)) return a;
  return {std::min(a.left, b.left), std::min(a.top, b.top), std::max(a.right, b.right),
          std::max(a.bottom, b.bottom)};
}

void find_bounds(const RasterCall& call) {
  const Scene& scene = call.scene;
  for (int i = 0; i < scene.chunk_count; ++i) {
    const Chunk& chunk = scene.chunks[i];
    Bounds all{0, 0, 0, 0};
    for (std::uint32_t t = 0; t < chunk.triangles; ++t) {
      const std::uint32_t* index = scene.indices + chunk.first_index + 3 * t;
      const Place places[3] = {snap(scene.vertices[index[0]]), snap(scene.vertices[index[1]]),
                               snap(scene.vertices[index[2]])};
      const Bounds bounds = bounds_of(places, scene.commands[chunk.command], scene.width, scene.height);
      call.triangle_bounds[static_cast<std::size_t>(i) * kChunkTriangles + t] = bounds;
      all = together(all, bounds);
    }
    call.chunk_bounds[i] = all;
  }
}

class Tile {
 public:
  Tile(const RasterCall& call, int left, int top) : call_(call), left_(left), top_(top) {
    for (Colour& pixel : pixels_) pixel = unpack(call.scene.background);
  }

  void add(int chunk_number) {
    const Scene& scene = call_.scene;
    const Chunk& chunk = scene.chunks[chunk_number];
    const Command& command = scene.commands[chunk.command];
    Piece piece;
    for (std::uint32_t t = 0; t < chunk.triangles; ++t) {
      const Bounds& bounds =
          call_.triangle_bounds[static_cast<std::size_t>(chunk_number) * kChunkTriangles + t];
      if (!meet(bounds, area())) continue;
      if (!make_piece(scene, scene.indices + chunk.first_index + 3 * t, command, bounds, left_, top_, piece))
        continue;
      const int right = std::min(bounds.right - left_, kTile), bottom = std::min(bounds.bottom - top_, kTile);
      for (int y = std::max(bounds.top - top_, 0); y < bottom; ++y) {
        for (int x = std::max(bounds.left - left_, 0); x < right; ++x) {
          draw(scene, piece, left_, top_, x, y, pixels_[y * kTile + x]);
        }
      }
    }
  }

  void write() const {
    const Scene& scene = call_.scene;
    for (int y = 0; y < std::min(kTile, scene.height - top_); ++y) {
      for (int x = 0; x < std::min(kTile, scene.width - left_); ++x) {
        call_.pixels[static_cast<std::size_t>(top_ + y) * static_cast<std::size_t>(scene.width) +
                     static_cast<std::size_t>(left_ + x)] = pack(pixels_[y * kTile + x]);
      }
    }
  }

  Bounds area() const {
    return {static_cast<std::int16_t>(left_), static_cast<std::int16_t>(top_),
            static_cast<std::int16_t>(left_ + kTile), static_cast<std::int16_t>(top_ + kTile)};
  }

 private:
  const RasterCall& call_;
  int left_, top_;
  Colour pixels_[kTile * kTile];
};

}  // namespace

void raster_on_host(const RasterCall& call) {
  find_bounds(call);
  for (int top = 0; top < call.scene.height; top += kTile) {
    for (int left = 0; left < call.scene.width; left += kTile) {
      Tile tile(call, left, top);
      for (int i = 0; i < call.scene.chunk_count; ++i) {
        if (meet(call.chunk_bounds[i], tile.area())) tile.add(i);
      }
      tile.write();
    }
  }
}

}  // namespace warpscope::ui::paint
