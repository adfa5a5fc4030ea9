#pragma once
// A texture of the window, for whoever draws it: OpenGL, or the CPU's painter. All calls belong to the thread
// with the OpenGL context.

#include <imgui.h>

#include "ui/images/atlas.h"
#include "ui/paint/texture_store.h"

namespace warpscope::ui::interop {

/// An owned RGBA8 texture of OpenGL with nearest filtering, transparent at first. While the CPU paints the
/// window its pixels go only to the painter's store, under the texture's name.
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

/// The texture that holds an atlas of images.
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

/// The sizes of a page.
struct PageShape {
  int width = 0;  ///< of a tile, in texels
  int height = 0;
  int columns = 1;
  int rows = 1;

  int tiles() const { return columns * rows; }
  /// The top left texel of a tile.
  images::Point corner(int tile) const { return {tile % columns * width, tile / columns * height}; }
  bool operator==(const PageShape&) const = default;
};

/// The nearly square page of at least `tiles` tiles, or as many as fit into `largest` x `largest` texels; at
/// least one.
PageShape make_page(int tiles, int width, int height, int largest);

/// A texture of equal tiles that are uploaded one by one, as they are needed.
class TilePage {
 public:
  /// `store`: as Texture takes it.
  TilePage(const PageShape& shape, paint::TextureStore* store)
      : shape_(shape), texture_(shape.columns * shape.width, shape.rows * shape.height, store) {}

  /// Replaces the pixels of one tile.
  void upload(int tile, const images::Rgba* pixels);
  /// Replaces the pixels of all tiles: width() x height() texels, row by row.
  void upload_all(const images::Rgba* pixels) { texture_.upload(pixels); }
  /// Draws a tile into the rectangle from `min` to `max`, in pixels of the window.
  void draw(ImDrawList* list, int tile, ImVec2 min, ImVec2 max) const;
  /// draw() with the tile's texels times `tint`.
  void draw_tinted(ImDrawList* list, int tile, ImVec2 min, ImVec2 max, ImU32 tint) const;
  /// Fills the rectangle with `colour` times the texel in the middle of a tile, in the same texture as pictures around
  /// it, so that many of both are one call.
  void fill(ImDrawList* list, int tile, ImVec2 min, ImVec2 max, ImU32 colour) const;
  /// Draws the texels of a tile from `from` up to but not including `to`.
  void draw_part(ImDrawList* list, int tile, images::Point from, images::Point to, ImVec2 min,
                 ImVec2 max) const;

  const PageShape& shape() const { return shape_; }
  int width() const { return texture_.width(); }
  int height() const { return texture_.height(); }
  /// As ImDrawList takes it.
  ImTextureID texture() const;
  unsigned id() const { return texture_.id(); }

 private:
  /// The corner of a texel, as part of the texture.
  ImVec2 place(images::Point texel) const;

  PageShape shape_;
  Texture texture_;
};

}  // namespace warpscope::ui::interop
