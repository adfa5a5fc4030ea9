// The way of a device's images where CUDA does not write into the window's texture: the floats come to pinned
// memory, and a thread makes colours of them, so that the window runs no kernel beside the training's.

#include <chrono>
#include <future>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "ui/frame/frame_phases.h"
#include "ui/interop/convert_images.h"
#include "ui/interop/image_path.h"

namespace warpscope::ui::interop {
namespace {

// One batch is under way at a time: copied, then converted, then uploaded; finish() sees that a stage is
// done.
class FetchedPath final : public ImagePath {
 public:
  FetchedPath(const training::ImageExchange& exchange, AtlasTexture& texture, std::string reason)
      : channels_(exchange.shape().channels),
        reason_(std::move(reason)),
        texture_(texture),
        bytes_(exchange.shape().elements() * sizeof(float)),
        original_(exchange.device(), bytes_),
        now_(exchange.device(), bytes_),
        pixels_(texture.atlas().bytes() / sizeof(images::Rgba), images::Rgba{0, 0, 0, 0}),
        arrived_(exchange.device()->make_event(false)),
        stream_(exchange.device()->make_stream()) {}

  bool convert(const training::ImageSlot& slot, const images::Conversion& conversion) override {
    if (state_ != State::idle) return false;
    stream_->wait(*slot.written);
    stream_->copy(original_.data(), slot.original.data(), bytes_);
    stream_->copy(now_.data(), slot.reconstruction.data(), bytes_);
    stream_->record(*slot.read);
    stream_->record(*arrived_);
    batch_ = describe(slot);
    conversion_ = conversion;
    fetched_ += 2 * bytes_;
    state_ = State::copying;
    return true;
  }

  bool finish(ShownBatch& shown) override {
    if (state_ == State::copying && arrived_->ready()) begin_conversion();
    if (state_ != State::converting || !converted()) return false;
    const FramePart part("images.finish.upload");
    texture_.upload(pixels_.data());
    shown = std::move(batch_);
    state_ = State::idle;
    return true;
  }

  core::Stream& stream() override { return *stream_; }
  std::string name() const override { return "fetched"; }
  std::string text() const override {
    return fmt::format("images fetched ({:.0f} KiB a batch): {}", static_cast<double>(2 * bytes_) / 1024.0,
                       reason_);
  }
  std::uint64_t bytes_to_host() const override { return fetched_; }

 private:
  enum class State : std::uint8_t { idle, copying, converting };

  void begin_conversion() {
    const ConversionCall call{original_.as<const float>(), now_.as<const float>(), channels_,
                              texture_.atlas(), conversion_};
    state_ = State::converting;
    try {
      thread_ =
          std::async(std::launch::async, [call, pixels = pixels_.data()] { convert_on_host(call, pixels); });
    } catch (const std::system_error&) {  // the system grants no thread
      convert_on_host(call, pixels_.data());
    }
  }

  bool converted() const {
    return !thread_.valid() || thread_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  int channels_;
  std::string reason_;
  AtlasTexture& texture_;
  std::size_t bytes_;
  core::HostBuffer original_, now_;
  std::vector<images::Rgba> pixels_;
  ShownBatch batch_;
  images::Conversion conversion_;
  State state_ = State::idle;
  std::uint64_t fetched_ = 0;
  std::unique_ptr<core::Event> arrived_;
  // Last, so that their destructors wait for their work before the memory above goes.
  std::unique_ptr<core::Stream> stream_;
  std::future<void> thread_;
};

}  // namespace

std::unique_ptr<ImagePath> make_fetched_path(const training::ImageExchange& exchange, AtlasTexture& texture,
                                             const std::string& reason) {
  return std::make_unique<FetchedPath>(exchange, texture, reason);
}

}  // namespace warpscope::ui::interop
