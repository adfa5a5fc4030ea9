// The way of the CPU's images: converted here and now.

#include <cstddef>
#include <vector>

#include "ui/interop/image_path.h"

namespace warpscope::ui::interop {
namespace {

class HostPath final : public ImagePath {
 public:
  HostPath(const training::ImageExchange& exchange, AtlasTexture& texture)
      : channels_(exchange.shape().channels),
        texture_(texture),
        stream_(exchange.device()->make_stream()),
        pixels_(texture.atlas().bytes() / sizeof(images::Rgba)) {}

  bool convert(const training::ImageSlot& slot, const images::Conversion& conversion) override {
    const images::Atlas& atlas = texture_.atlas();
    for (int image = 0; image < atlas.count; ++image) convert_image(slot, image, conversion);
    stream_->record(*slot.read);
    converted_ = describe(slot);
    fresh_ = true;
    return true;
  }

  bool finish(ShownBatch& shown) override {
    if (!fresh_) return false;
    texture_.upload(pixels_.data());
    shown = converted_;
    fresh_ = false;
    return true;
  }

  core::Stream& stream() override { return *stream_; }
  std::string name() const override { return "host"; }
  std::string text() const override { return "images from the CPU"; }

 private:
  void convert_image(const training::ImageSlot& slot, int image, const images::Conversion& conversion) {
    const images::Atlas& atlas = texture_.atlas();
    const std::size_t first = static_cast<std::size_t>(image) * static_cast<std::size_t>(atlas.height) *
                              static_cast<std::size_t>(atlas.width) * static_cast<std::size_t>(channels_);
    const float* original = slot.original.as<const float>() + first;
    const float* now = slot.reconstruction.as<const float>() + first;
    for (int y = 0; y < atlas.height; ++y) {
      for (int x = 0; x < atlas.width; ++x, original += channels_, now += channels_) {
        at(images::kOriginal, image, x, y) = images::image_colour(original, channels_);
        at(images::kNow, image, x, y) = images::image_colour(now, channels_);
        at(images::kDifference, image, x, y) =
            images::difference_colour(original, now, channels_, conversion);
      }
    }
  }

  images::Rgba& at(images::Row row, int image, int x, int y) {
    const images::Point corner = texture_.atlas().tile(row, image);
    return pixels_[static_cast<std::size_t>(corner.y + y) *
                       static_cast<std::size_t>(texture_.atlas().texture_width()) +
                   static_cast<std::size_t>(corner.x + x)];
  }

  int channels_;
  AtlasTexture& texture_;
  std::unique_ptr<core::Stream> stream_;
  std::vector<images::Rgba> pixels_;
  ShownBatch converted_;
  bool fresh_ = false;
};

}  // namespace

std::unique_ptr<ImagePath> make_host_path(const training::ImageExchange& exchange, AtlasTexture& texture) {
  return std::make_unique<HostPath>(exchange, texture);
}

}  // namespace warpscope::ui::interop
