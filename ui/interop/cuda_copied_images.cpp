// The way of CUDA's images where CUDA cannot reach the texture: device memory, pinned memory, pixel buffer.

#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "ui/interop/convert_images.h"
#include "ui/interop/image_path.h"

namespace warpscope::ui::interop {
namespace {

/// A converted atlas on its way to the host.
struct Transfer {
  core::HostBuffer pixels;
  std::unique_ptr<core::Event> arrived;
  ShownBatch batch;
  std::uint64_t order = 0;  ///< 0: not in use
};

class CopiedPath final : public ImagePath {
 public:
  CopiedPath(const training::ImageExchange& exchange, AtlasTexture& texture, const std::string& reason)
      : channels_(exchange.shape().channels),
        reason_(reason),
        texture_(texture),
        pixels_(exchange.device(), texture.atlas().bytes()),
        stream_(exchange.device()->make_stream()) {
    for (Transfer& transfer : ring_) {
      transfer.pixels = core::HostBuffer(exchange.device(), texture.atlas().bytes());
      transfer.arrived = exchange.device()->make_event(false);
    }
    stream_->fill(pixels_.data(), 0, pixels_.bytes());  // tiles of the last band may have no image
  }

  bool convert(const training::ImageSlot& slot, const images::Conversion& conversion) override {
    Transfer* transfer = idle();
    if (transfer == nullptr) return false;
    stream_->wait(*slot.written);
    convert_to_memory({slot.original.as<const float>(), slot.reconstruction.as<const float>(), channels_,
                       texture_.atlas(), conversion},
                      pixels_.as<images::Rgba>(), *stream_);
    stream_->record(*slot.read);
    stream_->copy(transfer->pixels.data(), pixels_.data(), pixels_.bytes());
    stream_->record(*transfer->arrived);
    transfer->batch = describe(slot);
    transfer->order = ++started_;
    bytes_ += pixels_.bytes();
    return true;
  }

  bool finish(ShownBatch& shown) override {
    Transfer* newest = nullptr;
    for (Transfer& transfer : ring_) {
      const bool newer = transfer.order > (newest == nullptr ? 0 : newest->order);
      if (newer && transfer.arrived->ready()) newest = &transfer;
    }
    if (newest == nullptr) return false;
    texture_.upload(newest->pixels.as<const images::Rgba>());
    shown = newest->batch;
    const std::uint64_t done = newest->order;
    for (Transfer& transfer : ring_) {
      if (transfer.order <= done) transfer.order = 0;
    }
    return true;
  }

  core::Stream& stream() override { return *stream_; }
  std::string name() const override { return "copied"; }
  std::string text() const override {
    return fmt::format("images copied ({:.0f} KiB a batch): {}",
                       static_cast<double>(pixels_.bytes()) / 1024.0, reason_);
  }
  std::uint64_t bytes_to_host() const override { return bytes_; }

 private:
  Transfer* idle() {
    for (Transfer& transfer : ring_) {
      if (transfer.order == 0) return &transfer;
    }
    return nullptr;
  }

  int channels_;
  std::string reason_;
  AtlasTexture& texture_;
  core::Buffer pixels_;
  std::array<Transfer, 3> ring_;
  // Last, so that its destructor waits for its work before the memory above goes.
  std::unique_ptr<core::Stream> stream_;
  std::uint64_t started_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<ImagePath> make_copied_path(const training::ImageExchange& exchange, AtlasTexture& texture,
                                            const std::string& reason) {
  return std::make_unique<CopiedPath>(exchange, texture, reason);
}

}  // namespace warpscope::ui::interop
