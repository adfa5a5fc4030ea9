#pragma once
// The Latent panel: test images in the plane of their latents' principal components, and the decoder's pictures of
// places between them.

#include <memory>
#include <string>

#include "ui/frame.h"
#include "ui/panels/latent_map.h"
#include "ui/panels/latent_walk.h"

namespace warpscope::ui {

class LatentPanel {
 public:
  /// Title row and body of the tab. Asks the training for what it shows.
  void draw(const Frame& frame);
  /// Frees the textures; called before the context goes.
  void shutdown();

 private:
  void draw_controls(const Frame& frame, float room);
  void draw_figures(const Frame& frame, ImVec2 corner) const;
  void draw_body(const Frame& frame);
  void trace(const Frame& frame);

  LatentPlane plane_;
  LatentWalk walk_;
  std::shared_ptr<const training::LatentMap> map_;  ///< shown; held still while a button is down on it
  std::string traced_;
};

}  // namespace warpscope::ui
