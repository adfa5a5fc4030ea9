#pragma once
// The texture that holds an atlas of images.

#include "ui/images/atlas.h"
#include "ui/interop/texture.h"

namespace warpscope::ui::interop {

class AtlasTexture {
 public:
  /// `store`: as Texture takes it.
  AtlasTexture(const images::Atlas& atlas, paint::TextureStore* store)
      : atlas_(atlas), texture_(atlas.texture_width(), atlas.texture_height(), store) {}

  /// Replaces all pixels, as Texture::upload() does.
  void upload(const images::Rgba* pixels) { texture_.upload(pixels); }

  const images::Atlas& atlas() const { return atlas_; }
  unsigned id() const { return texture_.id(); }

 private:
  images::Atlas atlas_;
  Texture texture_;
};

}  // namespace warpscope::ui::interop
