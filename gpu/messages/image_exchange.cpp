#include "gpu/messages/image_exchange.h"

#include <utility>

namespace warpscope::training {

ImageExchange::ImageExchange(const std::shared_ptr<core::Device>& device, const ImageShape& shape)
    : device_(device), shape_(shape) {
  for (ImageSlot& slot : slots_) {
    slot.original = core::Buffer(device, shape.elements() * sizeof(float));
    slot.reconstruction = core::Buffer(device, shape.elements() * sizeof(float));
    slot.errors = core::HostBuffer(device, static_cast<std::size_t>(shape.count) * sizeof(float));
    slot.written = device->make_event(false);
    slot.read = device->make_event(false);
  }
}

// Only publish() changes writing_, and only the trainer calls it, so the trainer may read writing_ without
// the lock.
ImageSlot& ImageExchange::begin_write(core::Stream& stream) {
  ImageSlot& slot = slots_[static_cast<std::size_t>(writing_)];
  stream.wait(*slot.read);
  return slot;
}

void ImageExchange::publish(core::Stream& stream) {
  ImageSlot& slot = slots_[static_cast<std::size_t>(writing_)];
  stream.record(*slot.written);
  const std::lock_guard lock(mutex_);
  slot.number = ++published_;
  std::swap(writing_, newest_);
  fresh_ = true;
}

bool ImageExchange::unread() const {
  const std::lock_guard lock(mutex_);
  return fresh_;
}

const ImageSlot* ImageExchange::acquire() {
  const std::lock_guard lock(mutex_);
  if (fresh_ && slots_[static_cast<std::size_t>(newest_)].written->ready()) {
    std::swap(held_, newest_);
    fresh_ = false;
  }
  const ImageSlot& held = slots_[static_cast<std::size_t>(held_)];
  return held.number > 0 ? &held : nullptr;
}

}  // namespace warpscope::training
