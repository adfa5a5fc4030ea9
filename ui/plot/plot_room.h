#pragma once
// The room of one plot in pixels, and the axes in it.

#include "ui/frame/frame.h"
#include "ui/plot/axis.h"
#include "ui/plot/view.h"

namespace warpscope::ui::plot {

/// The whole item, and the area of the curves within it: left of it stand the labels of y, below those of x.
struct Room {
  ImVec2 min, max;
  float left = 0, right = 0, top = 0, bottom = 0;

  bool in_area(ImVec2 p) const { return p.x >= left && p.x < right && p.y >= top && p.y < bottom; }
  bool on_y_axis(ImVec2 p) const { return p.x >= min.x && p.x < left && p.y >= top && p.y < bottom; }
};

inline Axis x_axis(const View& view, const Room& room) {
  return {view.x0, view.x1, room.left, room.right, view.log_x};
}

inline Axis y_axis(const View& view, const Room& room, bool logarithmic) {
  return {view.y0, view.y1, room.bottom, room.top, logarithmic};
}

}  // namespace warpscope::ui::plot
