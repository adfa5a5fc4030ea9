#include "ui/docking/dock_tabs.h"

#include <algorithm>
#include <numeric>

namespace warpscope::ui {

std::vector<std::size_t> tabs_that_fit(std::span<const float> widths, std::size_t active, float gap,
                                       float more, float room) {
  std::vector<std::size_t> seen(widths.size());
  std::iota(seen.begin(), seen.end(), std::size_t{0});
  const float all =
      std::accumulate(widths.begin(), widths.end(), gap * static_cast<float>(widths.size() - 1));
  if (all <= room) return seen;
  seen.clear();
  float left = room - more - gap - widths[active];
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (i == active) continue;
    left -= gap + widths[i];
    if (left < 0) break;
    seen.push_back(i);
  }
  seen.insert(std::lower_bound(seen.begin(), seen.end(), active), active);
  return seen;
}

}  // namespace warpscope::ui
