#pragma once
// A plot of curves over an x axis that it may share with others: ticks and grid, markers, read-out under the pointer,
// zoom and pan, a range that is measured.
//
// Wheel: zoom x at the pointer (over the y axis: zoom y). Drag: zoom to the range (over the y axis: of y). Right or
// middle drag: pan. Shift-drag: measure the range; Shift-click: no longer. Double-click: show everything and follow.

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/plot/axis.h"
#include "ui/plot/curve.h"
#include "ui/plot/flags.h"
#include "ui/plot/range_sums.h"
#include "ui/plot/view.h"

namespace warpscope::ui::plot {

/// One curve. `beneath` (may be nullptr) is drawn faintly under it: the raw values of a smoothed curve.
struct Line {
  const char* name = "";
  const Series* series = nullptr;
  const Series* beneath = nullptr;
  const char* beneath_name = "";
  ImU32 color = 0;
  bool dots = false;     ///< mark single points where there is room
  bool faint = false;    ///< draw it faintly as a whole
  bool thin = false;     ///< beside what matters: an earlier run
  bool alone = false;    ///< only points, not joined
  std::size_t dash = 0;  ///< dash_pattern()
  /// Beyond it the curve has ended, however far the plot goes: no value is read out there.
  double end = std::numeric_limits<double>::infinity();
};

/// A range of x, low <= high.
struct Span {
  double low = 0;
  double high = 0;
  bool operator==(const Span&) const = default;
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
  const char* empty_text = "";                      ///< shown while no line has a point
  std::function<std::string(double x)> describe{};  ///< first line of the read-out for a point at x
  std::optional<Span> span{};                       ///< that plots with the same x axis have together
  std::optional<double> pointer{};                  ///< x under the pointer in a plot with the same x axis
  std::optional<double> cursor{};                   ///< x of what is looked at elsewhere: a line
  std::optional<Span> measured{};                   ///< the range whose figures are shown
  float labels = 0;                                 ///< least room for the labels of y, in pixels
};

/// What the mouse is doing in one plot and what was measured in it, kept between frames.
struct Hold {
  enum class Kind { none, pan, range, values, measure } kind = Kind::none;
  ImVec2 start;
  bool pans = false;            ///< the pointer has gone far enough for a pan
  std::vector<RangeSums> sums;  ///< of each line
};

/// What a person did in the plot.
struct Reply {
  std::optional<double> pointer;          ///< x of the point under the pointer
  std::optional<double> clicked;          ///< x of a click that was no drag
  std::optional<double> menu;             ///< x of a right click that was none
  bool doubled = false;                   ///< a double click, which shows everything
  bool clicked_cursor = false;            ///< it was on Content::cursor
  std::optional<Span> measured;           ///< is being marked by shift-drag
  bool measured_none = false;             ///< Shift-click, double-click: nothing is measured any more
  float labels = 0;                       ///< room that the labels of y need: where linked plots begin alike
  std::optional<FlagGroup> clicked_flag;  ///< of Content::markers
};

/// ", step 1,250", or ", at 1:40": stands behind the name of a line whose value is that of another place than the one
/// pointed at.
std::string place_text(const Content& content, double x);

/// The x of all points that have a place on the axis; nothing if there are none.
std::optional<Span> span_of(const Content& content, bool log_x);

/// Draws the plot as an item of `size` pixels, traced as `name`.
Reply draw(const Frame& frame, const char* name, ImVec2 size, const Content& content, View& view, Hold& hold);

/// Draws the plot as draw() has last shown it, without mouse and read-out, into the rectangle: for files.
void paint(const Frame& frame, ImVec2 min, ImVec2 max, const Content& content, const View& view);

}  // namespace warpscope::ui::plot
