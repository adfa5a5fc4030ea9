#pragma once
// Walks through the latent space with the decoder's picture at each place: from one image to another, or along
// the principal components.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/interop/texture.h"
#include "ui/panels/network/latent_map.h"
#include "ui/panels/network/latent_rows.h"

namespace warpscope::ui {

class LatentWalk {
 public:
  /// The controls and pictures, in a column `size` large. `map` is of a model that decodes.
  void draw(const Frame& frame, const training::LatentMap& map, ImVec2 size);
  /// The pictures to ask for. The walk begins at `image`, Cursor::image.
  std::vector<training::LatentRecipe> recipes(const training::LatentMap& map, std::int64_t image) const;
  /// What the plane marks.
  LatentMarks marks(const Frame& frame, const training::LatentMap& map) const;
  /// The image where the walk ends.
  void go_to(std::int64_t image) { to_ = image; }
  /// Frees the texture; called before the context goes.
  void shutdown() { page_.reset(); }

 private:
  enum Way : int { kBetween, kComponents };

  std::int64_t end(const training::LatentMap& map, std::int64_t image) const;
  training::LatentRecipe place(const training::LatentMap& map, std::int64_t image) const;
  void refresh(const Frame& frame, const std::vector<training::LatentRecipe>& wanted);
  void draw_between(const Frame& frame, const training::LatentMap& map, float width);
  void draw_components(const Frame& frame, const training::LatentMap& map, float width);
  void draw_strip(const Frame& frame, float width);
  void draw_picture(const Frame& frame, ImVec2 room);
  void draw_tile(std::size_t tile, ImVec2 min, ImVec2 max) const;

  int way_ = kBetween;
  int base_ = 0;  ///< of the components: the image, or the mean
  std::int64_t to_ = 1;
  float t_ = 0.5f;
  std::array<float, 6> deviations_{};
  std::shared_ptr<const training::LatentPictures> shown_;
  std::vector<training::LatentRecipe> wanted_;  ///< those that the tiles are for; the last one is large
  std::vector<bool> has_picture_;               ///< one a tile
  std::unique_ptr<interop::TilePage> page_;
};

}  // namespace warpscope::ui
