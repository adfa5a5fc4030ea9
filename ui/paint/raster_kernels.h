#pragma once
// From a scene to its picture, on the CPU and on CUDA.

#include <cstdint>

#include "gpu/core/device.h"
#include "ui/paint/scene.h"

namespace warpscope::ui::paint {

/// Draws the scene in stream order: scene.width x scene.height RGBA8 pixels, rows from the top. Every pointer lies in memory of
/// the stream's device; `triangle_bounds` has room for kChunkTriangles of every chunk, `chunk_bounds` for one of each.
struct RasterCall {
  Scene scene;
  Bounds* triangle_bounds;
  Bounds* chunk_bounds;
  std::uint32_t* pixels;
};

void raster_on_host(const RasterCall& call);
#if WARPSCOPE_HAVE_CUDA
/// Throws core::Error.
void raster_with_cuda(const RasterCall& call, core::Stream& stream);
#endif

}  // namespace warpscope::ui::paint
