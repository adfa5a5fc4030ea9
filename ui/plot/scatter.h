#pragma once
// Points over two axes, all of them seen at once.

#include <optional>
#include <span>
#include <string>

#include "ui/frame/frame.h"
#include "ui/plot/axis.h"
#include "ui/plot/roofline.h"

namespace warpscope::ui::plot {

struct ScatterPoint {
  double x = 0;
  double y = 0;
  std::string tip;
  ImU32 color = 0;
  PointShape shape = PointShape::circle;
  bool marked = false;  ///< with a ring: what is looked at
};

struct Scatter {
  std::span<const ScatterPoint> points;
  const char* x_label = "";
  const char* y_label = "";
  bool logarithmic_x = false;  ///< then x is above 0
};

/// What the axes cover: all points with a tenth of air around them, each at least `least` wide where all are equal.
struct ScatterRange {
  double low_x = 0, high_x = 1, low_y = 0, high_y = 1;
};
ScatterRange scatter_range(const Scatter& scatter);

/// Draws it as an item of `size` pixels, traced as `name`. The point that was clicked.
std::optional<std::size_t> draw_scatter(const Frame& frame, const char* name, ImVec2 size,
                                        const Scatter& scatter);

}  // namespace warpscope::ui::plot
