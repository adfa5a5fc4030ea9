#pragma once
// Horizontal bars with their spread, in groups that compete with each other.

#include <array>
#include <span>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/plot/axis.h"
#include "ui/widgets/table.h"

namespace warpscope::ui::plot {

/// One bar. `low` and `high` are the ends of its whisker; no whisker where they are equal.
struct Bar {
  std::string label;
  double value = 0;
  double low = 0;
  double high = 0;
  std::string note;     ///< beside the label, small: "fastest, tie"
  std::string text;     ///< the value as text, aligned to the right of its column
  std::string detail;   ///< one more number and its unit, aligned to the right: "87 %"
  std::string refusal;  ///< why there is no bar, written in its place
  std::string tip;
  ImU32 color = 0;
  bool best = false;  ///< the fastest: the note is in Palette::good
};

/// Bars on one axis, which starts at 0 or is logarithmic.
struct BarGroup {
  std::string title;
  std::string subtitle;  ///< muted, after the title
  double mark = 0;       ///< a line across the bars: what cannot be beaten; 0 for none
  std::vector<Bar> bars;
};

/// The axis of a group from pixel `left` to `right`: from 0 to the end of its longest whisker, but at most to
/// twice its longest bar; or logarithmic from the power of ten below its shortest bar, so that each bar has
/// some length.
Axis bar_axis(const BarGroup& group, bool logarithmic, float left, float right);

/// A bar by itself between two corners, with its whisker; `axis` maps to pixels of the window.
void draw_bar(const Frame& frame, ImVec2 min, ImVec2 max, const Axis& axis, const Bar& bar);

/// What the columns are, in the header.
struct BarNames {
  const char* label = "";
  const char* label_tip = "";
  const char* bar_tip = "";
  const char* text = "";  ///< "ms"
  const char* text_tip = "";
  const char* detail = "";  ///< "of floor"
  const char* detail_tip = "";
};

/// The table's columns.
std::array<ui::Column, 4> bar_columns(const BarNames& names);

/// Draws a table of the groups. Bar j of group i is traced as "<name>.<i>.<j>" while it is in view.
void draw_bars(const Frame& frame, const char* name, ImVec2 size, std::span<const BarGroup> groups,
               const BarNames& names, bool logarithmic);

}  // namespace warpscope::ui::plot
