#include "ui/interop/image_view.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "ui/frame/frame_phases.h"

namespace warpscope::ui::interop {
namespace {

images::Atlas atlas_of(const training::ImageShape& shape) {
  const int largest = Texture::largest();
  const images::Atlas atlas = images::make_atlas(shape.count, shape.height, shape.width, largest);
  if (atlas.count == 0) {
    throw core::Error(
        fmt::format("images of {} x {} pixels are too large for OpenGL, whose textures end at {} x {}",
                    shape.width, shape.height, largest, largest));
  }
  return atlas;
}

std::string sharing_failed(const core::Error& error) {
  return fmt::format("sharing failed: {}", error.what());
}

/// WARPSCOPE_IMAGE_PATH, if it is set. Throws core::Error unless these images can take that way.
std::string_view requested_path(bool on_cuda, bool painted) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  const char* const set = std::getenv("WARPSCOPE_IMAGE_PATH");
  const std::string_view request = set == nullptr ? "" : set;
  const bool possible = request.empty() || request == "fetched" || (request == "host" && !on_cuda) ||
                        (request == "shared" && on_cuda && !painted);
  if (possible) return request;
  const std::string_view valid = !on_cuda ? "host, fetched" : painted ? "fetched" : "shared, fetched";
  throw core::Error(fmt::format("WARPSCOPE_IMAGE_PATH '{}' is not possible here; valid: {}", request, valid));
}

std::unique_ptr<ImagePath> choose_path(const training::ImageExchange& exchange, AtlasTexture& texture,
                                       bool painted) {
  const bool on_cuda = exchange.device()->kind() == core::DeviceKind::cuda;
  const std::string_view request = requested_path(on_cuda, painted);
  if (request == "fetched") return make_fetched_path(exchange, texture, "WARPSCOPE_IMAGE_PATH=fetched");
#if WARPSCOPE_HAVE_CUDA
  if (on_cuda) {
    exchange.device()->make_current();
    if (painted) return make_fetched_path(exchange, texture, "the CPU draws the window");
    try {
      return make_shared_path(exchange, texture);
    } catch (const core::Error& error) {
      return make_fetched_path(exchange, texture, sharing_failed(error));
    }
  }
#endif
  return make_host_path(exchange, texture);
}

constexpr std::size_t kMostChannels = 3;

}  // namespace

PixelProbe::PixelProbe(const std::shared_ptr<core::Device>& device, const training::ImageShape& shape)
    : shape_(shape),
      buffer_(device, 2 * kMostChannels * sizeof(float)),
      arrived_(device->make_event(false)) {}

void PixelProbe::ask(const training::ImageSlot& slot, const PixelPlace& place, core::Stream& stream) {
  const auto known = [&](const std::optional<PixelValues>& values) {
    return values && values->place == place && values->number == slot.number;
  };
  poll();
  if (pending_ || known(values_)) return;
  const auto pixel = (static_cast<std::size_t>(place.image) * static_cast<std::size_t>(shape_.height) +
                      static_cast<std::size_t>(place.y)) *
                         static_cast<std::size_t>(shape_.width) +
                     static_cast<std::size_t>(place.x);
  const std::size_t first = pixel * static_cast<std::size_t>(shape_.channels);
  const int channels = std::min(shape_.channels, static_cast<int>(kMostChannels));
  const std::size_t bytes = static_cast<std::size_t>(channels) * sizeof(float);
  stream.copy(buffer_.as<float>(), slot.original.as<const float>() + first, bytes);
  stream.copy(buffer_.as<float>() + kMostChannels, slot.reconstruction.as<const float>() + first, bytes);
  stream.record(*slot.read);
  stream.record(*arrived_);
  pending_ = PixelValues{place, slot.number, channels, {}, {}};
  poll();
}

bool PixelProbe::poll() {
  if (!pending_ || !arrived_->ready()) return false;
  std::copy_n(buffer_.as<const float>(), kMostChannels, pending_->original.begin());
  std::copy_n(buffer_.as<const float>() + kMostChannels, kMostChannels, pending_->now.begin());
  values_ = pending_;
  pending_.reset();
  return true;
}

ShownBatch describe(const training::ImageSlot& slot) {
  const float* errors = slot.errors.as<const float>();
  const std::size_t count = slot.errors.bytes() / sizeof(float);
  return {slot.step, slot.number, {errors, errors + count}};
}

std::unique_ptr<ImageView> ImageView::make(std::shared_ptr<training::ImageExchange> exchange,
                                           paint::TextureStore* store) {
  return std::unique_ptr<ImageView>(new ImageView(std::move(exchange), store));
}

ImageView::ImageView(std::shared_ptr<training::ImageExchange> exchange, paint::TextureStore* store)
    : exchange_(std::move(exchange)),
      texture_(atlas_of(exchange_->shape()), store),
      probe_(exchange_->device(), exchange_->shape()),
      path_(choose_path(*exchange_, texture_, store != nullptr && !store->closed())) {}

bool ImageView::is_converted(const images::Conversion& conversion) const {
  return slot_ == nullptr || (slot_->number == converted_number_ && conversion == converted_as_);
}

void ImageView::update(const images::Conversion& conversion, bool later) {
  if (!failure_.empty()) return;
  try {
    acquire();
    finish();
    const bool waits = later && converted_number_ > 0 && conversion == converted_as_;
    if (!waits && !is_converted(conversion)) {
      convert(conversion);
      finish();
    }
    probe_.poll();
  } catch (const core::Error& error) {
    failure_ = error.what();
  }
}

bool ImageView::prepare() {
  if (!failure_.empty()) return false;
  try {
    acquire();
    if (is_converted(converted_as_)) return false;
    convert(converted_as_);
    finish();
  } catch (const core::Error& error) {
    failure_ = error.what();
  }
  return true;
}

bool ImageView::advance() {
  if (!failure_.empty()) return false;
  try {
    acquire();
    const bool shown = finish(), probed = probe_.poll();
    return shown || probed || !is_converted(converted_as_);
  } catch (const core::Error& error) {
    failure_ = error.what();
    return true;
  }
}

void ImageView::acquire() {
  const FramePart part("images.acquire");
  slot_ = exchange_->acquire();
}

bool ImageView::finish() {
  const FramePart part("images.finish");
  return path_->finish(shown_);
}

void ImageView::convert(const images::Conversion& conversion) {
  const FramePart part("images.convert");
  bool started = false;
  try {
    started = path_->convert(*slot_, conversion);
  } catch (const core::Error& error) {
    if (path_->name() != "shared") throw;
    path_ = make_fetched_path(*exchange_, texture_, sharing_failed(error));
    started = path_->convert(*slot_, conversion);
  }
  if (!started) return;
  converted_number_ = slot_->number;
  converted_as_ = conversion;
}

void ImageView::probe(const PixelPlace& place) {
  if (slot_ == nullptr || !failure_.empty()) return;
  try {
    probe_.ask(*slot_, place, path_->stream());
  } catch (const core::Error& error) {
    failure_ = error.what();
  }
}

std::string ImageView::path_text() const {
  return failure_.empty() ? path_->text() : "images stopped: " + failure_;
}

void PastImages::show(const training::ImageHistory& history, std::uint64_t step,
                      const images::Conversion& conversion, paint::TextureStore* store) {
  const auto images = history.at(step);
  if (!images) return;
  const bool fits = exchange_ && exchange_->shape() == images->shape;
  if (!fits) {
    view_.reset();
    device_ = core::open_device("cpu");
    stream_ = device_->make_stream();
    exchange_ = std::make_shared<training::ImageExchange>(device_, images->shape);
  }
  if (images != images_ || !fits) {
    training::ImageSlot& slot = exchange_->begin_write(*stream_);
    std::copy(images->original.begin(), images->original.end(), slot.original.as<float>());
    std::copy(images->reconstruction.begin(), images->reconstruction.end(), slot.reconstruction.as<float>());
    std::copy(images->errors.begin(), images->errors.end(), slot.errors.as<float>());
    slot.step = images->step;
    images_ = images;
    exchange_->publish(*stream_);
  }
  if (!view_) view_ = ImageView::make(exchange_, store);
  view_->update(conversion);
}

}  // namespace warpscope::ui::interop
