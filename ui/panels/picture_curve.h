#pragma once
// How near the pictures have come to their originals over the steps: the chosen image, and the mean of all.

#include <cstdint>

#include "ui/frame/frame.h"
#include "ui/panels/picture_figures.h"
#include "ui/plot/curve.h"

namespace warpscope::ui {

class PictureCurve {
 public:
  /// Follows the history of the pictures, for one metric and one image.
  void update(const Frame& frame, PictureMetric metric, int image);
  void draw(const Frame& frame, float height);
  /// Between frames: true if figures have come that were not there. Never waits.
  bool advance() { return figures_.advance(); }

 private:
  HistoryFigures figures_;
  plot::Series of_image_, mean_;
  PictureMetric metric_ = PictureMetric::psnr;
  int image_ = -1;
  std::uint64_t version_ = 0;
};

}  // namespace warpscope::ui
