#pragma once
// What the window sees of the trainer's images: one texture with the newest batch in it.
//
// The way from the device to the texture (image_path.h) is chosen when the view is made: "host" for the CPU,
// "fetched" where the CPU paints the window, "shared" where CUDA and OpenGL run on one GPU, else "fetched".
// If sharing fails later, fetching takes over. The environment variable WARPSCOPE_IMAGE_PATH overrides the
// choice.
//
// No call waits for a stream. All calls belong to the thread with the OpenGL context.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gpu/messages/image_exchange.h"
#include "gpu/messages/image_history.h"
#include "ui/images/atlas.h"
#include "ui/images/conversion.h"
#include "ui/interop/image_path.h"
#include "ui/interop/texture.h"

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

/// The values of one pixel, for the magnifier: from the slot itself, not from the eight bits on the screen, and only
/// while the pointer rests on an image.
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

class ImageView {
 public:
  /// `store`: as Texture takes it. Throws core::Error if the images are larger than any texture, if
  /// WARPSCOPE_IMAGE_PATH names no way that these images can take, or if the device has failed.
  static std::unique_ptr<ImageView> make(std::shared_ptr<training::ImageExchange> exchange,
                                         paint::TextureStore* store);

  /// Once a frame: takes the newest batch and converts it if it or `conversion` is new. With `later` prepare() follows
  /// the frame: a batch that only is newer than the one in the texture waits for it.
  void update(const images::Conversion& conversion, bool later = false);
  /// After a frame: converts what waits, so that the next frame need not. True if something did.
  bool prepare();
  /// Between frames: takes the newest batch and brings the one under way further. True if the next update()
  /// will change what is shown, or this call has.
  bool advance();
  /// Asks for the values of a pixel; they arrive in values(), at once or a few frames later.
  void probe(const PixelPlace& place);
  /// The newest values that have arrived.
  const std::optional<PixelValues>& values() const { return probe_.values(); }

  /// The batch in the texture; its number is 0 before the first.
  const ShownBatch& shown() const { return shown_; }
  /// A newer batch is on its way there.
  bool under_way() const { return failure_.empty() && shown_.number != converted_number_; }
  const training::ImageExchange& exchange() const { return *exchange_; }
  const images::Atlas& atlas() const { return texture_.atlas(); }
  unsigned texture() const { return texture_.id(); }

  /// "host", "shared" or "fetched".
  std::string path_name() const { return path_->name(); }
  /// "images from host memory", "images shared with OpenGL", "images fetched (768 KiB a batch): sharing failed:
  /// ...".
  std::string path_text() const;
  /// Bytes of images that have crossed from the device to the host. The few that probe() fetches are not
  /// counted.
  std::uint64_t image_bytes_to_host() const { return path_->bytes_to_host(); }

 private:
  ImageView(std::shared_ptr<training::ImageExchange> exchange, paint::TextureStore* store);
  void acquire();
  bool finish();
  void convert(const images::Conversion& conversion);
  bool is_converted(const images::Conversion& conversion) const;

  std::shared_ptr<training::ImageExchange> exchange_;
  AtlasTexture texture_;
  PixelProbe probe_;
  std::unique_ptr<ImagePath> path_;
  const training::ImageSlot* slot_ = nullptr;  ///< held until the exchange gives a newer one
  std::uint64_t converted_number_ = 0;
  images::Conversion converted_as_;
  ShownBatch shown_;
  std::string failure_;  ///< why the images do not change any more, or ""
};

/// Pictures of an earlier step: from the history in host memory, by the same way as those of a training on the CPU.
class PastImages {
 public:
  /// Shows the pictures of the last kept step that is not after `step`. Once a frame, with the OpenGL context
  /// current. Throws core::Error as ImageView::make() does.
  void show(const training::ImageHistory& history, std::uint64_t step, const images::Conversion& conversion,
            paint::TextureStore* store);
  /// What shows them; nullptr before the first.
  ImageView* view() const { return view_.get(); }
  /// Frees the texture; called before the context goes.
  void shutdown() { view_.reset(); }

 private:
  std::shared_ptr<core::Device> device_;
  std::unique_ptr<core::Stream> stream_;
  std::shared_ptr<training::ImageExchange> exchange_;
  std::unique_ptr<ImageView> view_;
  std::shared_ptr<const training::ShownImages> images_;  ///< in the view
};

}  // namespace warpscope::ui::interop
