#pragma once
// The row of choices above the pictures: which rows there are, the figure, the order, the class, the curve, and a
// person's own images.

#include "ui/frame/frame.h"
#include "ui/panels/own_pictures.h"
#include "ui/panels/picture_scene.h"
#include "ui/panels/weights_list.h"

namespace warpscope::ui {

class PictureMenu {
 public:
  void draw(const Frame& frame, PictureScene& scene, OwnPictures& own);
  /// The menu of rows.
  bool is_open() const { return open_; }
  /// Between frames: true if files have been found. Never waits.
  bool advance() { return weights_.advance(); }

 private:
  void draw_rows_menu(const Frame& frame, PictureScene& scene);
  std::string why_no_row(const Frame& frame, const PictureChoices& choices, PictureRow row) const;
  void draw_row(const Frame& frame, PictureScene& scene, PictureRow row, float left);
  void draw_other(const Frame& frame, PictureChoices& choices) const;
  void draw_earlier(const Frame& frame, PictureScene& scene) const;
  void draw_file(const Frame& frame, PictureChoices& choices, PictureRow row) const;
  void draw_difference(const Frame& frame, PictureScene& scene) const;

  WeightsList weights_;
  bool open_ = false;
};

}  // namespace warpscope::ui
