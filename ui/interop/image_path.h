#pragma once
// The ways from an image slot to the atlas texture. They differ in where floats become colours:
//
//   host     the CPU trains: converted from the slot in the calling thread
//   shared   CUDA writes into the OpenGL texture itself: no image byte crosses to the host
//   fetched  the floats are copied to pinned memory and a thread of the CPU converts them. Used where the
//            CPU paints the window, so that no kernel runs beside the training's, and where OpenGL and CUDA
//            share nothing (OpenGL on the CPU, on another GPU or on another machine)
//
// None waits for a stream; all calls belong to the thread with the OpenGL context.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/messages/image_exchange.h"
#include "ui/images/conversion.h"
#include "ui/interop/texture.h"

namespace warpscope::ui::interop {

/// The batch whose pixels are in the texture.
struct ShownBatch {
  std::uint64_t step = 0;
  std::uint64_t number = 0;   ///< ImageSlot::number; 0 before the first
  std::vector<float> errors;  ///< mean squared error of each image
};

/// The shown batch as it is when `slot` is shown.
ShownBatch describe(const training::ImageSlot& slot);

class ImagePath {
 public:
  virtual ~ImagePath() = default;

  /// Starts to convert `slot`, and records slot.read in stream order after the last that reads it. False if
  /// that cannot be started without waiting: then try again in the next frame. Throws core::Error.
  virtual bool convert(const training::ImageSlot& slot, const images::Conversion& conversion) = 0;
  /// Brings a conversion that is done to the texture, and one under way to its next stage. True if `shown`
  /// has changed. Throws core::Error.
  virtual bool finish(ShownBatch& shown) = 0;
  /// The stream on which the slot may be read; work added here is followed by recording slot.read.
  virtual core::Stream& stream() = 0;
  /// "host", "shared" or "fetched".
  virtual std::string name() const = 0;
  /// The path in words, for the status bar.
  virtual std::string text() const = 0;
  /// Bytes of images that have crossed from the device to the host so far.
  virtual std::uint64_t bytes_to_host() const { return 0; }
};

std::unique_ptr<ImagePath> make_host_path(const training::ImageExchange& exchange, AtlasTexture& texture);

/// `reason` says why the images come to the host as they are.
std::unique_ptr<ImagePath> make_fetched_path(const training::ImageExchange& exchange, AtlasTexture& texture,
                                             const std::string& reason);

#if WARPSCOPE_HAVE_CUDA
/// Throws core::Error that says why sharing is impossible.
std::unique_ptr<ImagePath> make_shared_path(const training::ImageExchange& exchange, AtlasTexture& texture);
#endif

}  // namespace warpscope::ui::interop
