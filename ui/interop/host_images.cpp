// The way of the images of a training on the CPU: converted in the calling thread.

#include <vector>

#include "ui/frame/frame_phases.h"
#include "ui/interop/convert_images.h"
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
    convert_on_host({slot.original.as<const float>(), slot.reconstruction.as<const float>(), channels_,
                     texture_.atlas(), conversion},
                    pixels_.data());
    stream_->record(*slot.read);
    converted_ = describe(slot);
    fresh_ = true;
    return true;
  }

  bool finish(ShownBatch& shown) override {
    if (!fresh_) return false;
    const FramePart part("images.finish.upload");
    texture_.upload(pixels_.data());
    shown = converted_;
    fresh_ = false;
    return true;
  }

  core::Stream& stream() override { return *stream_; }
  std::string name() const override { return "host"; }
  std::string text() const override { return "images from host memory"; }

 private:
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
