#pragma once
// From a scene to its picture, on the CPU and on CUDA.

#include <cstdint>

#include "gpu/core/device.h"
#include "ui/paint/scene.h"

namespace warpscope::ui::paint {

/// Draws the scene in stream order: scene.width x scene.height RGBA8 pixels, rows from the top. Every pointer lies in memory of
/// the stream's device; `triangle_bounds` and `triangle_marks` have room for kChunkTriangles of every chunk, `chunk_bounds` for one
/// of each (the CPU needs none of the three), `tile_marks` and `tile_changed` for each tile, row by row.
///
/// Only tiles that changed are drawn: `pixels` and `tile_marks` come from the picture before, of the same size; where a mark is 0
/// the tile is drawn in any case. `tile_changed` becomes 1 or 0.
struct RasterCall {
  Scene scene;
  Bounds* triangle_bounds;
  std::uint64_t* triangle_marks;
  Bounds* chunk_bounds;
  std::uint64_t* tile_marks;
  std::uint8_t* tile_changed;
  std::uint32_t* pixels;
};

#if WARPSCOPE_HAVE_CUDA
/// Throws core::Error.
void raster_with_cuda(const RasterCall& call, core::Stream& stream);
#endif

}  // namespace warpscope::ui::paint
