#pragma once
// The conversions behind image_path.h, as a CUDA kernel and on the CPU.

#include <cstdint>

#include "gpu/core/device.h"
#include "ui/images/atlas.h"
#include "ui/images/conversion.h"

namespace warpscope::ui::interop {

/// A batch to convert: (atlas.count, height, width, channels) floats, in the memory of who converts it.
struct ConversionCall {
  const float* original = nullptr;
  const float* reconstruction = nullptr;
  int channels = 0;
  images::Atlas atlas;
  images::Conversion conversion;
};

/// Writes the atlas to a surface object (cudaSurfaceObject_t) of RGBA8. Throws core::Error.
void convert_to_surface(const ConversionCall& call, std::uint64_t surface, core::Stream& stream);

/// Writes the atlas row by row to host memory before it returns.
void convert_on_host(const ConversionCall& call, images::Rgba* pixels);

}  // namespace warpscope::ui::interop
