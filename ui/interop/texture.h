#pragma once
// A texture of the window, for whoever draws it: OpenGL, or the CPU's painter. All calls belong to the thread
// with the OpenGL context.

#include "ui/images/atlas.h"
#include "ui/paint/texture_store.h"

namespace warpscope::ui::interop {

/// An owned RGBA8 texture of OpenGL with nearest filtering, transparent at first. While the CPU paints the
/// window its pixels go to the painter's store alone, under the texture's name.
class Texture {
 public:
  /// `store`: the painter's, which outlives the texture; nullptr if OpenGL draws the window.
  Texture(int width, int height, paint::TextureStore* store);
  ~Texture();
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;

  /// Replaces all pixels; `pixels` are read before this returns. They go through a pixel buffer, which the
  /// driver copies to the GPU later, so neither side waits.
  void upload(const images::Rgba* pixels);
  /// Replaces a part, in the calling thread.
  void upload_part(images::Point at, int width, int height, const images::Rgba* pixels);

  unsigned id() const { return texture_; }
  int width() const { return width_; }
  int height() const { return height_; }

  /// The widest and highest texture of the current context.
  static int largest();

 private:
  bool is_painted() const { return store_ != nullptr && !store_->closed(); }

  int width_, height_;
  paint::TextureStore* store_;
  unsigned texture_ = 0;
  unsigned pixel_buffer_ = 0;  // made when it is first needed
};

}  // namespace warpscope::ui::interop
