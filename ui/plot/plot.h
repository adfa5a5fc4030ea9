#pragma once
// A plot of curves over a shared x axis: ticks and grid, markers, read-out under the pointer, zoom and pan.
//
// Wheel: zoom x at the pointer (over the y axis: zoom y). Drag: pan. Shift-drag or right drag: zoom to the
// box. Double-click: show everything and follow.

#include <functional>
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
};

/// What a plot shows this frame.
struct Content {
  std::span<const Line> lines;
  std::span<const Marker> markers;
  Unit x_unit = Unit::count;
  const char* x_label = "";
  bool logarithmic = false;                       ///< the y axis
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

}  // namespace warpscope::ui::plot
