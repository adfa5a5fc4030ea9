#pragma once
// What the window sees of the trainer's images: one texture with the newest batch in it, of OpenGL or of who paints
// the window (paint::TextureBook).
//
// The way from the device to the texture is chosen once, when the view is made (image_path.h): "host" for
// the CPU, "painted" where CUDA draws the window too, "fetched" where the CPU does, "shared" where CUDA and OpenGL
// run on one GPU, "copied" otherwise. If painting or sharing fails later, copying takes over with the reason. The
// environment variable WARPSCOPE_IMAGE_PATH overrides the choice: "copied" for CUDA's images, "fetched" for those of
// any device.
//
// No call waits for a stream. All calls belong to the thread with the GL context.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gpu/messages/image_exchange.h"
#include "ui/images/atlas.h"
#include "ui/images/conversion.h"
#include "ui/interop/atlas_texture.h"
#include "ui/interop/image_path.h"
#include "ui/interop/pixel_probe.h"

namespace warpscope::ui::interop {

class ImageView {
 public:
  /// Throws core::Error if the images are larger than any texture or not even copying is possible, which
  /// means that the device has failed.
  static std::unique_ptr<ImageView> make(std::shared_ptr<training::ImageExchange> exchange);

  /// Once a frame: takes the newest batch and converts it if it or `conversion` is new.
  void update(const images::Conversion& conversion);
  /// Asks for the values of a pixel; they arrive in values(), at once or a few frames later.
  void probe(const PixelPlace& place);
  /// The newest values that have arrived.
  const std::optional<PixelValues>& values() const { return probe_.values(); }

  /// The batch in the texture; its number is 0 before the first.
  const ShownBatch& shown() const { return shown_; }
  /// A newer batch is on its way there: the next updates will show it.
  bool under_way() const { return failure_.empty() && shown_.number != converted_number_; }
  const training::ImageExchange& exchange() const { return *exchange_; }
  const images::Atlas& atlas() const { return texture_.atlas(); }
  unsigned texture() const { return texture_.id(); }

  /// "shared", "painted", "fetched", "copied" or "host".
  std::string path_name() const;
  /// "images shared with OpenGL", "images painted by CUDA", "images copied (384 KiB a batch): sharing failed:
  /// ...", "images converted by the CPU (768 KiB a batch): the CPU draws the window", "images from the CPU".
  std::string path_text() const;
  /// Bytes of images that have crossed from the device to the host: 0 while they are shared, or painted: then
  /// the finished picture of the window crosses. The few bytes that probe() fetches are not counted.
  std::uint64_t image_bytes_to_host() const;

 private:
  explicit ImageView(std::shared_ptr<training::ImageExchange> exchange);
  void convert(const images::Conversion& conversion);
  void copy_from_now_on(const std::string& reason);

  std::shared_ptr<training::ImageExchange> exchange_;
  AtlasTexture texture_;
  PixelProbe probe_;
  bool for_painter_;  ///< the path was chosen for who paints the window, who has not failed so far
  std::unique_ptr<ImagePath> path_;
  const training::ImageSlot* slot_ = nullptr;  ///< held until the next update()
  std::uint64_t converted_number_ = 0;
  images::Conversion converted_as_;
  ShownBatch shown_;
  std::string failure_;  ///< why the images do not change any more, or ""
  std::uint64_t earlier_bytes_ = 0;
};

}  // namespace warpscope::ui::interop
