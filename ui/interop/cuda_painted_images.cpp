// The way of CUDA's images where CUDA paints the window (ui/paint): the painter reads them where the conversion wrote them.

#include <array>

#include "ui/interop/convert_images.h"
#include "ui/interop/image_path.h"
#include "ui/paint/texture_book.h"

namespace warpscope::ui::interop {
namespace {

// Of two atlases one is shown, so that no conversion changes what is being painted: Painter::paint() waits for its picture, so
// each frame has been painted when the next one begins.
class PaintedPath final : public ImagePath {
 public:
  PaintedPath(const training::ImageExchange& exchange, AtlasTexture& texture)
      : channels_(exchange.shape().channels),
        texture_(texture),
        done_(exchange.device()->make_event(false)),
        stream_(exchange.device()->make_stream()) {
    for (core::Buffer& atlas : atlases_) {
      atlas = core::Buffer(exchange.device(), texture.atlas().bytes());
      stream_->fill(atlas.data(), 0, atlas.bytes());  // tiles of the last band may have no image
    }
  }

  // The painter must not read what goes.
  ~PaintedPath() override {
    if (auto* book = paint::TextureBook::current()) {
      book->put(texture_.id(), texture_.atlas().texture_width(), texture_.atlas().texture_height(), false,
                nullptr);
    }
  }
  PaintedPath(const PaintedPath&) = delete;
  PaintedPath& operator=(const PaintedPath&) = delete;

  bool convert(const training::ImageSlot& slot, const images::Conversion& conversion) override {
    if (converting_) return false;
    stream_->wait(*slot.written);
    convert_to_memory({slot.original.as<const float>(), slot.reconstruction.as<const float>(), channels_,
                       texture_.atlas(), conversion},
                      atlases_[1 - shown_].as<images::Rgba>(), *stream_);
    stream_->record(*slot.read);
    stream_->record(*done_);
    converted_ = describe(slot);
    converting_ = true;
    return true;
  }

  bool finish(ShownBatch& shown) override {
    if (!converting_ || !done_->ready()) return false;
    converting_ = false;
    shown_ = 1 - shown_;
    if (auto* book = paint::TextureBook::current()) {
      const images::Atlas& atlas = texture_.atlas();
      book->put_on_device(texture_.id(), atlas.texture_width(), atlas.texture_height(),
                          atlases_[shown_].as<const std::uint32_t>());
    }
    shown = converted_;
    return true;
  }

  core::Stream& stream() override { return *stream_; }
  std::string name() const override { return "painted"; }
  std::string text() const override { return "images painted by CUDA"; }

 private:
  int channels_;
  AtlasTexture& texture_;
  std::array<core::Buffer, 2> atlases_;
  std::size_t shown_ = 0;
  ShownBatch converted_;
  bool converting_ = false;
  std::unique_ptr<core::Event> done_;
  // Last, so that its destructor waits for its work before the memory above goes.
  std::unique_ptr<core::Stream> stream_;
};

}  // namespace

std::unique_ptr<ImagePath> make_painted_path(const training::ImageExchange& exchange, AtlasTexture& texture) {
  return std::make_unique<PaintedPath>(exchange, texture);
}

}  // namespace warpscope::ui::interop
