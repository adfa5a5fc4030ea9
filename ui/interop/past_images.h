#pragma once
// Pictures of an earlier step on the screen: from the history in host memory, by the same way as those of a
// training on the CPU.

#include <cstdint>
#include <memory>

#include "gpu/messages/image_history.h"
#include "ui/interop/image_view.h"

namespace warpscope::ui::interop {

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
