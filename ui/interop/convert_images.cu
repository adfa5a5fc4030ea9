#include <algorithm>

#include "gpu/core/cuda.h"
#include "ui/interop/convert_images.h"

namespace warpscope::ui::interop {
namespace {

using images::Rgba;

__device__ void write(cudaSurfaceObject_t surface, Rgba colour, int x, int y) {
  surf2Dwrite(make_uchar4(colour.r, colour.g, colour.b, colour.a), surface,
              x * static_cast<int>(sizeof(Rgba)), y);
}

// One thread makes the three pixels of one place: original, reconstruction, difference.
__global__ void convert(ConversionCall call, cudaSurfaceObject_t surface) {
  const images::Atlas& atlas = call.atlas;
  const long long pixels = static_cast<long long>(atlas.count) * atlas.height * atlas.width;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < pixels; i += stride) {
    const int x = static_cast<int>(i % atlas.width);
    const int y = static_cast<int>(i / atlas.width % atlas.height);
    const int image = static_cast<int>(i / atlas.width / atlas.height);
    const float* original = call.original + i * call.channels;
    const float* now = call.reconstruction + i * call.channels;
    const Rgba colours[images::kRows] = {
        images::image_colour(original, call.channels), images::image_colour(now, call.channels),
        images::difference_colour(original, now, call.channels, call.conversion)};
    for (int row = 0; row < images::kRows; ++row) {
      const images::Point corner = atlas.tile(row, image);
      write(surface, colours[row], corner.x + x, corner.y + y);
    }
  }
}

}  // namespace

// Few blocks: the conversion runs beside training kernels and must not push them aside.
void convert_to_surface(const ConversionCall& call, std::uint64_t surface, core::Stream& stream) {
  constexpr int kThreads = 256;
  constexpr long long kMostBlocks = 64;
  const long long pixels = static_cast<long long>(call.atlas.count) * call.atlas.height * call.atlas.width;
  if (pixels == 0) return;
  const auto blocks = static_cast<unsigned>(std::min((pixels + kThreads - 1) / kThreads, kMostBlocks));
  convert<<<blocks, kThreads, 0, core::cuda_stream(stream)>>>(call, surface);
  core::check_launch("conversion of the shown images");
}

}  // namespace warpscope::ui::interop
