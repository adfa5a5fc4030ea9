#include "ui/interop/past_images.h"

#include <algorithm>

namespace warpscope::ui::interop {

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
