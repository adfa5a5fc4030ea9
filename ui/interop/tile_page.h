#pragma once
// A texture of equal tiles that are uploaded one by one, as they are needed. All calls belong to the thread
// with the OpenGL context.

#include <imgui.h>

#include "ui/images/atlas.h"
#include "ui/interop/texture.h"

namespace warpscope::ui::interop {

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
