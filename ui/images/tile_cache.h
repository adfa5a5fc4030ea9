#pragma once
// Which image lies in which tile of a texture that holds fewer images than there are: the tile that was
// needed least recently is given to the next image.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace warpscope::ui::images {

/// A tile for an image.
struct TilePlace {
  int tile = 0;
  bool fresh = false;  ///< the tile does not hold the image's pixels yet
};

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

}  // namespace warpscope::ui::images
