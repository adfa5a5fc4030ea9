#include "ui/images/tile_cache.h"

#include <algorithm>

namespace warpscope::ui::images {

std::optional<TilePlace> TileCache::need(int image) {
  if (const auto found = place_.find(image); found != place_.end()) {
    tiles_[static_cast<std::size_t>(found->second)].frame = frame_;
    return TilePlace{found->second, false};
  }
  const auto oldest = std::min_element(tiles_.begin(), tiles_.end(),
                                       [](const Tile& a, const Tile& b) { return a.frame < b.frame; });
  if (oldest == tiles_.end() || oldest->frame == frame_) return std::nullopt;
  if (oldest->image >= 0) place_.erase(oldest->image);
  *oldest = {image, frame_};
  const int tile = static_cast<int>(oldest - tiles_.begin());
  place_[image] = tile;
  return TilePlace{tile, true};
}

void TileCache::forget(int image) {
  const auto found = place_.find(image);
  if (found == place_.end()) return;
  tiles_[static_cast<std::size_t>(found->second)] = {};
  place_.erase(found);
}

void TileCache::clear() {
  std::fill(tiles_.begin(), tiles_.end(), Tile{});
  place_.clear();
}

}  // namespace warpscope::ui::images
