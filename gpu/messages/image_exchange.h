#pragma once
// Hands image batches from the trainer to one reader without either waiting for the other: three slots, of
// which the trainer fills one, the reader holds one, and the third is the newest complete one. The images
// stay in device memory.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "gpu/core/device.h"

namespace warpscope::training {

/// The size of the batch that is shown.
struct ImageShape {
  int count = 0;
  int height = 0;
  int width = 0;
  int channels = 0;

  std::size_t elements() const {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  }
  bool operator==(const ImageShape&) const = default;
};

/// One batch of originals and reconstructions: (count, height, width, channels) floats, nominally in [0, 1],
/// in the device's memory (host memory on the CPU).
struct ImageSlot {
  core::Buffer original;
  core::Buffer reconstruction;
  core::HostBuffer errors;  ///< float[count], mean squared error of each image; valid once `written` is ready
  std::unique_ptr<core::Event> written;  ///< recorded by the trainer after filling the slot
  std::unique_ptr<core::Event> read;     ///< recorded by the reader after its last use on its own stream
  std::uint64_t step = 0;                ///< steps done when the reconstructions were made
  std::uint64_t number = 0;              ///< 1 for the first batch published, then 2, ...
};

/// A batch of shown images in host memory: (count, height, width, channels) floats, nominally in [0, 1].
struct ShownImages {
  ImageShape shape;
  std::uint64_t step = 0;        ///< steps done when the reconstructions were made
  std::uint64_t generation = 0;  ///< Snapshot::generation
  std::vector<float> original;
  std::vector<float> reconstruction;
  std::vector<float> errors;  ///< mean squared error of each image
};

class ImageExchange {
 public:
  ImageExchange(const std::shared_ptr<core::Device>& device, const ImageShape& shape);

  const ImageShape& shape() const { return shape_; }
  const std::shared_ptr<core::Device>& device() const { return device_; }

  /// Trainer: the slot to fill. `stream` first waits (on the device) for the slot's last reader.
  ImageSlot& begin_write(core::Stream& stream);
  /// Trainer: records `written` on `stream` and makes the slot the newest.
  void publish(core::Stream& stream);
  /// Trainer: the newest batch waits for its reader, who needs none yet that is newer still.
  bool unread() const;

  /// Reader: the newest batch whose `written` is ready, if it is newer than the one held; the one held
  /// otherwise; nullptr before the first. Never waits. The slot stays valid and unchanged until the next
  /// call. Before calling again the reader records `read` on the stream that uses the slot (on the CPU: has
  /// finished reading).
  const ImageSlot* acquire();

 private:
  std::shared_ptr<core::Device> device_;
  ImageShape shape_;
  std::array<ImageSlot, 3> slots_;
  mutable std::mutex mutex_;
  int writing_ = 0;
  int newest_ = 1;
  int held_ = 2;
  bool fresh_ = false;
  std::uint64_t published_ = 0;
};

}  // namespace warpscope::training
