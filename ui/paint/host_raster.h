#pragma once
// The painter on the CPU.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ui/paint/helpers.h"
#include "ui/paint/raster_kernels.h"

namespace warpscope::ui::paint {

/// Draws what changed of a scene, with the caller's thread and up to two more. Keeps its memory from picture to picture.
class HostRaster {
 public:
  HostRaster();
  void draw(const RasterCall& call);

 private:
  struct Found {
    std::uint32_t first_index, command;
    Bounds bounds;
    bool rectangle;  // with the next one, an upright one of one colour
    std::uint64_t mark;
  };
  struct Tile {
    std::uint64_t added = 0;
    std::uint32_t triangles = 0;
    std::uint32_t next = 0;  // where its next triangle goes in order_
    bool changed = false;
  };

  void find_triangles(const Scene& scene);
  void compare(const RasterCall& call);
  void sort_into_tiles();
  void draw_tile(const RasterCall& call, std::size_t number) const;
  template <class Action>
  void for_each_tile(const Bounds& bounds, Action action);

  std::vector<Found> found_;  // in drawing order, those that have pixels
  std::vector<Tile> tiles_;
  std::vector<std::uint32_t> order_;  // tile by tile, numbers of triangles in drawing order
  std::vector<std::size_t> changed_;  // numbers of tiles
  std::size_t columns_ = 0;
  Helpers helpers_;
};

}  // namespace warpscope::ui::paint
