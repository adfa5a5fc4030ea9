#include <cstddef>

#include "ui/interop/convert_images.h"

namespace warpscope::ui::interop {
namespace {

using images::Rgba;

/// The pixels of one image: original, reconstruction, difference.
void convert_image(const ConversionCall& call, int image, Rgba* pixels) {
  const images::Atlas& atlas = call.atlas;
  const auto width = static_cast<std::size_t>(atlas.texture_width());
  const auto at = [&](images::Row row, int x, int y) -> Rgba& {
    const images::Point corner = atlas.tile(row, image);
    return pixels[static_cast<std::size_t>(corner.y + y) * width + static_cast<std::size_t>(corner.x + x)];
  };
  const std::size_t first = static_cast<std::size_t>(image) * static_cast<std::size_t>(atlas.height) *
                            static_cast<std::size_t>(atlas.width) * static_cast<std::size_t>(call.channels);
  const float* original = call.original + first;
  const float* now = call.reconstruction + first;
  for (int y = 0; y < atlas.height; ++y) {
    for (int x = 0; x < atlas.width; ++x, original += call.channels, now += call.channels) {
      at(images::kOriginal, x, y) = images::image_colour(original, call.channels);
      at(images::kNow, x, y) = images::image_colour(now, call.channels);
      at(images::kDifference, x, y) =
          images::difference_colour(original, now, call.channels, call.conversion);
    }
  }
}

}  // namespace

void convert_on_host(const ConversionCall& call, Rgba* pixels) {
  for (int image = 0; image < call.atlas.count; ++image) convert_image(call, image, pixels);
}

}  // namespace warpscope::ui::interop
