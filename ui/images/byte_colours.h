#pragma once
// The colours of images that are stored as bytes.

#include <cstdint>
#include <vector>

#include "gpu/data/dataset.h"
#include "ui/images/conversion.h"

namespace warpscope::ui::images {

/// The pixels of an image, row by row: RGB from three channels on, grey below (as image_colour()).
inline std::vector<Rgba> byte_colours(const data::ImageSet& set, int image) {
  const auto channels = static_cast<std::size_t>(set.channels);
  const std::uint8_t* from = set.pixels.data() + static_cast<std::int64_t>(image) * set.image_bytes();
  std::vector<Rgba> pixels(static_cast<std::size_t>(set.height) * static_cast<std::size_t>(set.width));
  for (Rgba& pixel : pixels) {
    pixel = channels >= 3 ? Rgba{from[0], from[1], from[2], 255} : Rgba{from[0], from[0], from[0], 255};
    from += channels;
  }
  return pixels;
}

}  // namespace warpscope::ui::images
