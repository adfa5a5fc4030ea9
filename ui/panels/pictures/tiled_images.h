#pragma once
// What grids of images share: whole pixels of the framebuffer, the buttons for the zoom, places for large tool-tips,
// and a texture whose tiles hold the images that are seen.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/messages/data_view.h"
#include "ui/frame/frame.h"
#include "ui/images/grid_layout.h"
#include "ui/interop/texture.h"

namespace warpscope::ui {

/// Framebuffer pixels per pixel of the window.
float framebuffer_density();
/// The nearest place that is a whole pixel of the framebuffer.
ImVec2 on_whole_pixels(ImVec2 at);
/// Where the pointer is, in framebuffer pixels from `origin`.
images::Point pointer_from(ImVec2 origin);
/// A frame around a picture, `line` pixels wide and outside it.
void outline(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 color, float line);

/// The top left corner at which a tool-tip of this size neither leaves the window nor, if there is any room
/// for that, covers the pointer. `scale` is Frame::scale.
ImVec2 beside_pointer(ImVec2 size, float scale);

/// The same, at which it does not cover what lies between `min` and `max`: below it, above it or beside it, near the
/// pointer. Where there is no room for that, beside_pointer().
ImVec2 beside_area(ImVec2 size, ImVec2 min, ImVec2 max, float scale);

/// Pixels that zoom_buttons() takes, where the number has room for `widest`.
float zoom_buttons_width(const Frame& frame, std::string_view widest = {});
/// "-", the zoom, "+" and "fit", which `name` begins the traces of; at the right end of the title row, and left out
/// where there is no room. A click sets `wanted`: 0 is "fit". `tip` is the number's.
void zoom_buttons(const Frame& frame, std::string_view name, float zoom, std::string_view tip, int& wanted,
                  std::string_view widest = {});

/// The room for cells with pictures of `set`; their captions are up to the caller.
images::CellSpace cell_space(const Frame& frame, const training::ImageFacts& set, std::size_t count,
                             ImVec2 room);
/// The corners of a cell's picture, in pixels of the window.
std::array<ImVec2, 2> picture_corners(const images::CellGrid& grid, ImVec2 origin, int cell);

/// A tile for an image.
struct TilePlace {
  int tile = 0;
  bool fresh = false;  ///< the tile does not hold the image's pixels yet
};

/// Which image lies in which tile of a texture that holds fewer images than there are: the tile that was needed least
/// recently is given to the next image.
class TileCache {
 public:
  explicit TileCache(int tiles) : tiles_(static_cast<std::size_t>(tiles)) {}

  /// Tiles that are asked for from now on stay at least until the next call.
  void begin_frame() { ++frame_; }
  /// The tile of an image. Nothing if all tiles are needed by other images of this frame.
  std::optional<TilePlace> need(int image);
  /// Its tile is free again: there are no pixels of it yet.
  void forget(int image);
  /// All tiles are free again: the images are others now.
  void clear();

 private:
  struct Tile {
    int image = -1;
    std::uint64_t frame = 0;  ///< in which it was needed last
  };

  std::vector<Tile> tiles_;
  std::unordered_map<int, int> place_;  ///< of each image that has one
  std::uint64_t frame_ = 1;
};

class TiledImages {
 public:
  /// Makes room for images of `set`, `tiles` at the most, none of which is there yet.
  void renew(const Frame& frame, const training::ImageFacts& set, int tiles);
  /// Tiles that are asked for from now on stay at least until the next call.
  void begin_frame() { cache_.begin_frame(); }
  /// The tile with the image's pixels; nothing while they are on their way, and where other images of this frame need
  /// all tiles.
  std::optional<int> tile_of(const training::DataView& data, training::DataPart part, int image);
  /// nullptr before renew().
  const interop::TilePage* page() const { return page_.get(); }
  /// Frees the texture; called before the context goes.
  void shutdown() { page_.reset(); }

 private:
  std::unique_ptr<interop::TilePage> page_;
  TileCache cache_{0};
};

}  // namespace warpscope::ui
