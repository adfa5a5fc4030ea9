#pragma once
// The ways from an image slot to the atlas texture. They differ in where floats become colours and in how the
// colours reach the texture, which is OpenGL's, or that of the painter where the window is painted (ui/paint):
//
//   host    the CPU's slots: converted in the calling thread, uploaded through a pixel buffer
//   shared  CUDA writes into the GL texture itself: no image byte crosses to the host
//   painted CUDA paints the window too (ui/paint) and reads what it converted: no batch is copied by itself
//   fetched the floats are copied to pinned memory, a thread of the CPU converts them, and a later frame uploads: where the
//           CPU draws the window, so that nothing runs on the GPU beside the training
//   copied  CUDA converts into device memory, copies to pinned memory, and a later frame uploads: for GL
//           contexts that CUDA cannot reach (software GL, another GPU, a remote display)
//
// None waits for a stream; all calls belong to the thread with the GL context.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/messages/image_exchange.h"
#include "ui/images/conversion.h"
#include "ui/interop/atlas_texture.h"

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

  /// Starts to convert `slot`, and records slot.read in stream order after the last that reads it. False if that
  /// cannot be started without waiting: then try again in the next frame. Throws core::Error.
  virtual bool convert(const training::ImageSlot& slot, const images::Conversion& conversion) = 0;
  /// Called each frame: brings finished conversions to the texture. True if `shown` has changed. Throws
  /// core::Error.
  virtual bool finish(ShownBatch& shown) = 0;
  /// The stream on which the slot may be read; work added here is followed by recording slot.read.
  virtual core::Stream& stream() = 0;
  /// "shared", "painted", "fetched", "copied" or "host".
  virtual std::string name() const = 0;
  /// The same in words for the status bar.
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
/// For a window that CUDA paints: there is a current paint::TextureBook. Once there is none any more, its images are seen by nobody.
std::unique_ptr<ImagePath> make_painted_path(const training::ImageExchange& exchange, AtlasTexture& texture);
/// `reason` says why the images are not shared.
std::unique_ptr<ImagePath> make_copied_path(const training::ImageExchange& exchange, AtlasTexture& texture,
                                            const std::string& reason);
#endif

}  // namespace warpscope::ui::interop
