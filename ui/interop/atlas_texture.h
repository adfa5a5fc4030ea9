#pragma once
// The OpenGL texture that holds an atlas of images. All calls belong to the thread with the GL context.

#include "ui/images/atlas.h"

namespace warpscope::ui::interop {

/// An owned RGBA8 texture with nearest filtering, transparent at first.
class AtlasTexture {
 public:
  explicit AtlasTexture(const images::Atlas& atlas);
  ~AtlasTexture();
  AtlasTexture(const AtlasTexture&) = delete;
  AtlasTexture& operator=(const AtlasTexture&) = delete;

  /// Replaces all pixels; `pixels` are read before this returns. They go through a pixel buffer, which the driver
  /// copies to the GPU later, so neither side waits; while the CPU paints the window (paint::TextureBook), to it alone.
  void upload(const images::Rgba* pixels);

  const images::Atlas& atlas() const { return atlas_; }
  unsigned id() const { return texture_; }

  /// The widest and highest texture of the current context.
  static int largest();

 private:
  images::Atlas atlas_;
  unsigned texture_ = 0;
  unsigned pixel_buffer_ = 0;
};

}  // namespace warpscope::ui::interop
