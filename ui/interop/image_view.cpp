#include "ui/interop/image_view.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "ui/paint/texture_book.h"

namespace warpscope::ui::interop {
namespace {

AtlasTexture make_texture(const training::ImageShape& shape) {
  const int largest = AtlasTexture::largest();
  const images::Atlas atlas = images::make_atlas(shape.count, shape.height, shape.width, largest);
  if (atlas.count == 0) {
    throw core::Error(
        fmt::format("images of {} x {} pixels are too large for OpenGL, whose textures end at {} x {}",
                    shape.width, shape.height, largest, largest));
  }
  return AtlasTexture(atlas);
}

/// Why images are copied: `how` the path that failed would have brought them.
std::string failed(std::string_view how, const core::Error& error) {
  return fmt::format("{} failed: {}", how == "painted" ? "painting" : "sharing", error.what());
}

std::string_view wished_path() {
  const char* const set = std::getenv("WARPSCOPE_IMAGE_PATH");
  return set == nullptr ? "" : set;
}

/// True if the path is chosen for who paints the window.
bool depends_on_painter(const training::ImageExchange& exchange) {
  return exchange.device()->kind() == core::DeviceKind::cuda && wished_path().empty() &&
         paint::TextureBook::current() != nullptr;
}

std::unique_ptr<ImagePath> choose_path(const training::ImageExchange& exchange, AtlasTexture& texture) {
  const std::string_view wish = wished_path();
  if (wish == "fetched") return make_fetched_path(exchange, texture, "WARPSCOPE_IMAGE_PATH=fetched");
#if WARPSCOPE_HAVE_CUDA
  if (exchange.device()->kind() == core::DeviceKind::cuda) {
    exchange.device()->make_current();
    if (wish == "copied") return make_copied_path(exchange, texture, "WARPSCOPE_IMAGE_PATH=copied");
    const auto* const book = paint::TextureBook::current();
    if (book != nullptr && !book->for_device()) {
      return make_fetched_path(exchange, texture, "the CPU draws the window");
    }
    const bool painted = book != nullptr;
    try {
      return painted ? make_painted_path(exchange, texture) : make_shared_path(exchange, texture);
    } catch (const core::Error& error) {
      return make_copied_path(exchange, texture, failed(painted ? "painted" : "shared", error));
    }
  }
#endif
  return make_host_path(exchange, texture);
}

}  // namespace

ShownBatch describe(const training::ImageSlot& slot) {
  const float* errors = slot.errors.as<const float>();
  return {slot.step, slot.number, {errors, errors + slot.errors.bytes() / sizeof(float)}};
}

std::unique_ptr<ImageView> ImageView::make(std::shared_ptr<training::ImageExchange> exchange) {
  return std::unique_ptr<ImageView>(new ImageView(std::move(exchange)));
}

ImageView::ImageView(std::shared_ptr<training::ImageExchange> exchange)
    : exchange_(std::move(exchange)),
      texture_(make_texture(exchange_->shape())),
      probe_(exchange_->device(), exchange_->shape()),
      for_painter_(depends_on_painter(*exchange_)),
      path_(choose_path(*exchange_, texture_)) {}

void ImageView::update(const images::Conversion& conversion) {
  if (!failure_.empty()) return;
  try {
    if (for_painter_ && paint::TextureBook::current() == nullptr) {
      for_painter_ = false;
      copy_from_now_on("the window is no longer painted");
      converted_number_ = 0;
    }
    slot_ = exchange_->acquire();
    if (slot_ == nullptr) return;
    if (slot_->number != converted_number_ || conversion != converted_as_) convert(conversion);
    path_->finish(shown_);
    probe_.poll();
  } catch (const core::Error& error) {
    failure_ = error.what();
  }
}

void ImageView::convert(const images::Conversion& conversion) {
  bool started = false;
  try {
    started = path_->convert(*slot_, conversion);
  } catch (const core::Error& error) {
    if (path_->name() != "shared" && path_->name() != "painted") throw;
    copy_from_now_on(failed(path_->name(), error));
    started = path_->convert(*slot_, conversion);
  }
  if (!started) return;
  converted_number_ = slot_->number;
  converted_as_ = conversion;
}

void ImageView::copy_from_now_on([[maybe_unused]] const std::string& reason) {
#if WARPSCOPE_HAVE_CUDA
  auto copied = make_copied_path(*exchange_, texture_, reason);
  earlier_bytes_ += path_->bytes_to_host();
  path_ = std::move(copied);
#endif
}

void ImageView::probe(const PixelPlace& place) {
  if (slot_ == nullptr || !failure_.empty()) return;
  try {
    probe_.ask(*slot_, place, path_->stream());
  } catch (const core::Error& error) {
    failure_ = error.what();
  }
}

std::string ImageView::path_name() const {
  return path_->name();
}

std::string ImageView::path_text() const {
  return failure_.empty() ? path_->text() : "images stopped: " + failure_;
}

std::uint64_t ImageView::image_bytes_to_host() const {
  return earlier_bytes_ + path_->bytes_to_host();
}

}  // namespace warpscope::ui::interop
