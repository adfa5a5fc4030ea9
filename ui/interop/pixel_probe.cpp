#include "ui/interop/pixel_probe.h"

#include <algorithm>
#include <cstddef>

namespace warpscope::ui::interop {

namespace {
constexpr std::size_t kMostChannels = 3;
}

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

}  // namespace warpscope::ui::interop
