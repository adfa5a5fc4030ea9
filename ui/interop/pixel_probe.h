#pragma once
// The values of one pixel, fetched on demand for the magnifier. The floats come from the slot itself, not
// from the eight bits on the screen: at most 24 bytes a request, and only while the pointer rests on an
// image.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "gpu/messages/image_exchange.h"

namespace warpscope::ui::interop {

/// A pixel of an image of the batch.
struct PixelPlace {
  int image = 0;
  int x = 0;
  int y = 0;

  bool operator==(const PixelPlace&) const = default;
};

struct PixelValues {
  PixelPlace place;
  std::uint64_t number = 0;  ///< ImageSlot::number
  int channels = 0;          ///< at most 3
  std::array<float, 3> original{};
  std::array<float, 3> now{};
};

class PixelProbe {
 public:
  PixelProbe(const std::shared_ptr<core::Device>& device, const training::ImageShape& shape);

  /// Starts to fetch the pixel on `stream` and records slot.read after it, unless it is known or a request
  /// is under way. Never waits. Throws core::Error.
  void ask(const training::ImageSlot& slot, const PixelPlace& place, core::Stream& stream);
  /// True if a request has arrived just now. Never waits. Throws core::Error.
  bool poll();
  /// The newest values that have arrived.
  const std::optional<PixelValues>& values() const { return values_; }

 private:
  training::ImageShape shape_;
  core::HostBuffer buffer_;
  std::unique_ptr<core::Event> arrived_;
  std::optional<PixelValues> pending_;
  std::optional<PixelValues> values_;
};

}  // namespace warpscope::ui::interop
