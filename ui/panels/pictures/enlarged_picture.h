#pragma once
// One image, as large as the panel: two of its rows side by side, as one picture with a divider that can be dragged,
// or in turns in the same place.

#include <optional>

#include "ui/frame/frame.h"
#include "ui/images/grid_layout.h"
#include "ui/panels/pictures/picture_desk.h"

namespace warpscope::ui {

/// The largest whole number of framebuffer pixels an image pixel at which `columns` images, with `gap` between them,
/// fit into the room; at least 1. All lengths are framebuffer pixels.
int enlarged_zoom(int width, int height, int columns, int gap, const training::ImageShape& shape);

class EnlargedPicture {
 public:
  void open(int image, PictureRow left, PictureRow right) {
    image_ = image;
    left_ = left;
    right_ = right;
  }
  void close() { image_.reset(); }
  bool is_open() const { return image_.has_value(); }
  /// Where its pictures and what stands below them were drawn last.
  ImVec2 min() const { return min_; }
  ImVec2 max() const { return max_; }
  /// Shows the other of the two rows.
  void flip() { flipped_ = !flipped_; }

  /// Fills `height` pixels of the panel. Returns the pixel that the pointer rests on, whose values are to be told.
  std::optional<images::GridHit> draw(const Frame& frame, PictureScene& scene, float height);

 private:
  enum Mode : int { kBeside, kSplit, kFlicker };

  void draw_controls(const Frame& frame, PictureScene& scene);
  void draw_rows_choice(const Frame& frame, const PictureScene& scene);
  std::optional<images::GridHit> draw_pictures(const Frame& frame, const PictureScene& scene, ImVec2 room);
  std::optional<images::GridHit> look_at_pointer(const Frame& frame, const PictureScene& scene, ImVec2 min,
                                                 float width, float gap);
  void draw_split(const Frame& frame, const PictureScene& scene, ImVec2 min, ImVec2 max);
  void draw_caption(const Frame& frame, const PictureScene& scene, PictureRow row, ImVec2 at,
                    float width) const;
  void draw_one(const Frame& frame, const PictureScene& scene, PictureRow row, ImVec2 min, ImVec2 max) const;
  void turn(const Frame& frame);

  std::optional<int> image_;
  int mode_ = kBeside;
  PictureRow left_ = PictureRow::original, right_ = PictureRow::now;
  float split_ = 0.5f;  ///< where the divider stands
  bool flipped_ = false;
  float rate_ = 2;  ///< turns a second; 0: only by key
  double next_ = 0;
  double hovered_since_ = 0;  ///< ImGui time at which the pointer came to the picture
  ImVec2 min_, max_;
};

}  // namespace warpscope::ui
