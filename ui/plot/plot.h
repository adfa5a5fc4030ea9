#pragma once
// A plot of curves over a shared x axis: ticks and grid, markers, read-out under the pointer, zoom and pan.
//
// Wheel: zoom x at the pointer (over the y axis: zoom y). Drag: pan. Shift-drag or right drag: zoom to the
// box. Double-click: show everything and follow.

#include <functional>
#include <limits>
#include <span>
#include <string>

#include "ui/frame.h"
#include "ui/plot/axis.h"
#include "ui/plot/curve.h"
#include "ui/plot/flags.h"
#include "ui/plot/view.h"

namespace warpscope::ui::plot {

/// One curve. `beneath` (may be nullptr) is drawn faintly under it: the raw values of a smoothed curve.
struct Line {
  const char* name = "";
  const Series* series = nullptr;
  const Series* beneath = nullptr;
  const char* beneath_name = "";
  ImU32 color = 0;
  bool dots = false;   ///< mark single points where there is room
  bool faint = false;  ///< draw it faintly as a whole
  bool thin = false;   ///< beside what matters: an earlier run
  bool alone = false;  ///< points alone, not joined
  /// Beyond it the curve has ended, however far the plot goes: no value is read out there.
  double end = std::numeric_limits<double>::infinity();
};

/// What a plot shows this frame.
struct Content {
  std::span<const Line> lines;
  std::span<const Marker> markers;
  Unit x_unit = Unit::count;
  const char* x_label = "";
  bool logarithmic = false;  ///< the y axis
  /// The end that the view follows; infinity: that of the longest line.
  double newest = std::numeric_limits<double>::infinity();
  const char* empty_text = "";                    ///< shown while no line has a point
  std::function<std::string(double x)> describe;  ///< first line of the read-out for a point at x
};

/// What the mouse is doing in one plot, kept between frames.
struct Drag {
  enum class Kind { none, pan, box } kind = Kind::none;
  ImVec2 start;
};

/// Draws the plot as an item of `size` pixels, traced as `name`.
void draw(const Frame& frame, const char* name, ImVec2 size, const Content& content, View& view, Drag& drag);

/// Draws the plot as draw() has last shown it, without mouse and read-out, into the rectangle: for files.
void paint(const Frame& frame, ImVec2 min, ImVec2 max, const Content& content, const View& view);

}  // namespace warpscope::ui::plot
