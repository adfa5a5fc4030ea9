#include "ui/plot/grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace warpscope::ui::plot {
namespace {

constexpr float kAspect = 2;

}  // namespace

GridShape grid_of(int count, ImVec2 room, float least_width) {
  GridShape best;
  best.rows = std::max(1, count);
  float least = std::numeric_limits<float>::infinity();
  for (int columns = 1; columns <= count; ++columns) {
    const int rows = (count + columns - 1) / columns;
    const float width = room.x / static_cast<float>(columns), height = room.y / static_cast<float>(rows);
    if (columns > 1 && width < least_width) break;
    const float distance = std::abs(std::log(width / std::max(1.0f, height) / kAspect));
    if (distance >= least) continue;
    least = distance;
    best = {columns, rows};
  }
  return best;
}

}  // namespace warpscope::ui::plot
