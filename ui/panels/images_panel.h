#pragma once
// The images panel: originals, reconstructions and their differences, pixel for pixel.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gpu/messages/image_exchange.h"
#include "ui/frame.h"
#include "ui/images/conversion.h"
#include "ui/images/grid_layout.h"
#include "ui/interop/image_view.h"
#include "ui/interop/past_images.h"
#include "ui/panels/image_timeline.h"

namespace warpscope::ui {

class ImagesPanel {
 public:
  /// Takes the newest batch; called once a frame with the OpenGL context current, whether the panel is
  /// drawn or not. nullptr while there is no exchange.
  void update(const std::shared_ptr<training::ImageExchange>& exchange, const Frame& frame);
  void draw(const Frame& frame);
  /// Frees what belongs to OpenGL and CUDA; called before the context goes.
  void shutdown();

  /// How the images reach the screen, for the status bar (interop/image_view.h); "no images yet" before the
  /// first.
  std::string path_text() const;
  /// "host", "shared", "fetched" or "none".
  std::string path_name() const;
  std::uint64_t image_bytes_to_host() const;
  /// Steps done when the reconstructions shown were made; 0 before the first.
  std::uint64_t shown_step() const;
  /// True once a batch is on the screen.
  bool has_images() const;

  /// Between frames: brings a batch that is on its way further. True if a frame is needed to show it.
  bool advance(const std::shared_ptr<training::ImageExchange>& exchange) {
    return exchange != exchange_ || (view_ && view_->advance());
  }

  /// What a person has chosen, so that it can be remembered.
  struct Settings {
    int zoom = 0;  ///< framebuffer pixels per image pixel; 0: fit
    images::Conversion conversion;
  };
  Settings settings;

 private:
  /// The image that stays under the pointer while the zoom changes.
  struct Anchor {
    int image = 0;
    float offset = 0;  ///< of its band's top from the upper edge of the grid, in pixels of the window
  };

  void draw_title(const Frame& frame);
  void draw_zoom(const Frame& frame);
  void draw_grid(const Frame& frame, float height);
  void draw_footer(const Frame& frame);
  /// What is shown: the pictures of an earlier step if one is chosen, else the newest.
  interop::ImageView* shown_view() const;
  images::Grid lay_out(const Frame& frame, float width, float height);
  /// Scrolls and zooms; the image pixel under the pointer.
  std::optional<images::GridHit> handle_pointer(const Frame& frame, const images::Grid& grid, ImVec2 origin);
  void draw_column(const Frame& frame, const images::Grid& grid, ImVec2 origin, int image,
                   bool hovered) const;

  std::shared_ptr<training::ImageExchange> exchange_;
  std::unique_ptr<interop::ImageView> view_;
  interop::PastImages past_;
  bool shows_past_ = false;
  ImageTimeline timeline_;
  std::string failure_;  ///< why there is no view
  int shown_zoom_ = 1;   ///< of the last frame
  std::optional<Anchor> anchor_;
  double hovered_since_ = 0;  ///< ImGui time at which the pointer came to the images
};

}  // namespace warpscope::ui
