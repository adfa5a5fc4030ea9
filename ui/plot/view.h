#pragma once
// What part of the data a plot shows, how wheel and mouse change it, and the room of the plot in pixels. No drawing
// here.

#include <imgui.h>

#include "ui/plot/axis.h"
#include "ui/plot/curve.h"

namespace warpscope::ui::plot {

/// The visible part. While `fit_x` is set all of x is shown; else, while `follow` is set, the right edge
/// stays at the newest point. While `fit_y` is set y covers what is visible.
struct View {
  bool fit_x = true;
  bool follow = true;
  bool fit_y = true;
  bool log_x = false;  ///< equal ratios of x take equal room; all x that are shown are positive then
  double x0 = 0;
  double x1 = 1;
  double y0 = 0;
  double y1 = 1;
};

/// Everything visible, following the newest point.
void fit(View& view);

/// Another kind of x axis: shows everything.
void set_log_x(View& view, bool logarithmic);

/// Gives `to` the x axis of `from`: of plots that are linked.
void link_x(const View& from, View& to);

/// Moves x to the data, which span [first, last], as `fit_x` and `follow` say. To be called each frame. On a
/// logarithmic axis first > 0.
void track_x(View& view, double first, double last);

/// Sets y to `extent` with some air while `fit_y` is set. On a logarithmic axis values that are not positive are left
/// out: where there are some, y reaches down to the least positive one, and four decades at least.
void track_y(View& view, Extent extent, bool logarithmic);

/// Narrows (factor < 1) or widens x around `center`, in ratios on a logarithmic axis. Widening beyond
/// [first, last] ends in fit_x; the right edge at or beyond the newest point means follow.
void zoom_x(View& view, double center, double factor, double first, double last);

/// The same for y around `center`, in ratios on a logarithmic axis; ends fit_y.
void zoom_y(View& view, double center, double factor, bool logarithmic);

/// Moves x so that what is at `from` comes to `to`, not beyond the data by more than half the view.
void pan_x(View& view, double from, double to, double first, double last);

/// True if the right edge stands at x.
bool is_at(const View& view, double x);

/// Shows exactly [xa, xb] (in any order), with y fitted to it; nothing if they are equal.
void show_x(View& view, double xa, double xb, double last);

/// Shows exactly the values [ya, yb] (in any order); nothing if they are equal.
void show_y(View& view, double ya, double yb);

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
