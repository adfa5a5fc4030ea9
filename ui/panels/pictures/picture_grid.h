#pragma once
// The bands of pictures: each image's rows below each other, pixel for pixel, with its figures below. The wheel
// scrolls, with Ctrl it changes the size; the pointer lights up what is below it in all rows.

#include <optional>

#include "ui/frame/frame.h"
#include "ui/images/grid_layout.h"
#include "ui/panels/pictures/picture_desk.h"
#include "ui/panels/pictures/tiled_images.h"

namespace warpscope::ui {

class PictureGrid {
 public:
  /// What the pointer does.
  struct Touch {
    std::optional<images::GridHit>
        hovered;                 ///< its `image` is one of the batch, its `row` counts in scene.rows
    std::optional<int> clicked;  ///< image
    std::optional<int> opened;   ///< image, by a double click
    double seconds = 0;          ///< that the pointer has rested on images
  };

  /// Fills `height` pixels of the panel.
  Touch draw(const Frame& frame, PictureScene& scene, float height);
  /// Framebuffer pixels per image pixel, of the last frame.
  float zoom() const { return zoom_; }
  /// True if the pointer was on the grid in the last frame.
  bool hovered() const { return hovered_; }

 private:
  /// The image that stays under the pointer while the zoom changes.
  struct Anchor {
    int image = 0;
    float offset = 0;  ///< of its band's top from the upper edge of the grid, in pixels of the window
  };

  void scroll(const PictureScene& scene, const images::Grid& grid, ImVec2 origin);
  Touch look_at_pointer(const Frame& frame, const PictureScene& scene, const images::Grid& grid,
                        ImVec2 origin);
  void draw_column(const Frame& frame, const PictureScene& scene, const images::Grid& grid, ImVec2 origin,
                   int place, bool lit) const;

  float zoom_ = 1;
  bool hovered_ = false;
  std::optional<Anchor> anchor_;
  double hovered_since_ = 0;  ///< ImGui time at which the pointer came to the images
};

/// Width of the labels before the rows, in pixels.
float picture_label_width(const Frame& frame, const PictureScene& scene);

}  // namespace warpscope::ui
