#pragma once
// The colours of images that are stored as bytes.

#include <cstdint>
#include <utility>
#include <vector>

#include "gpu/data/dataset.h"
#include "gpu/messages/data_view.h"
#include "ui/images/conversion.h"

namespace warpscope::ui::images {

/// The pixels of an image, row by row: RGB from three channels on, grey below (as image_colour()).
inline std::vector<Rgba> byte_colours(const std::uint8_t* from, const data::ImageShape& shape) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  std::vector<Rgba> pixels(static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width));
  for (Rgba& pixel : pixels) {
    pixel = channels >= 3 ? Rgba{from[0], from[1], from[2], 255} : Rgba{from[0], from[0], from[0], 255};
    from += channels;
  }
  return pixels;
}
inline std::vector<Rgba> byte_colours(const data::ImageSet& set, int image) {
  return byte_colours(set.pixels.data() + static_cast<std::int64_t>(image) * set.image_bytes(), set.shape());
}
/// Empty while the image is on its way.
inline std::vector<Rgba> byte_colours(const training::DataView& data, training::DataPart part,
                                      std::int64_t image) {
  const auto found = data.image(part, image);
  const training::ImageFacts& set = data.facts(part);
  const data::ImageShape shape{set.height, set.width, set.channels};
  const bool whole = found && std::cmp_greater_equal(found->pixels.size(),
                                                     std::int64_t{set.height} * set.width * set.channels);
  return whole ? byte_colours(found->pixels.data(), shape) : std::vector<Rgba>();
}

}  // namespace warpscope::ui::images
