#include "ui/plot/curve.h"

#include <algorithm>
#include <cmath>

namespace warpscope::ui::plot {

void Extent::include(float y) {
  if (!std::isfinite(y)) return;
  low = std::min(low, y);
  high = std::max(high, y);
}

void Extent::include(const Extent& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

void Series::append(double x, float y) {
  if (!x_.empty() && !(x >= x_.back())) x = x_.back();
  std::size_t index = x_.size();
  x_.push_back(x);
  y_.push_back(y);
  // One entry of each level covers the new point. A level exists once the level below has more than one entry, and is
  // complete from its first day, because all entries below are taken in when it is made.
  Extent point;
  point.include(y);
  for (std::size_t level = 0;; ++level) {
    const std::size_t below = level == 0 ? x_.size() : levels_[level - 1].size();
    if (below < 2) return;
    index /= 2;
    if (level == levels_.size()) {
      levels_.emplace_back();
      Extent all;
      if (level == 0) {
        for (const float value : y_) all.include(value);
      } else {
        for (const Extent& entry : levels_[level - 1]) all.include(entry);
      }
      levels_.back().push_back(all);
      return;
    }
    if (index == levels_[level].size()) levels_[level].emplace_back();
    levels_[level][index].include(point);
  }
}

void Series::clear() {
  x_.clear();
  y_.clear();
  levels_.clear();
}

std::size_t Series::lower_bound(double value) const {
  return static_cast<std::size_t>(std::lower_bound(x_.begin(), x_.end(), value) - x_.begin());
}

std::size_t Series::nearest(double value) const {
  const std::size_t after = lower_bound(value);
  if (after == 0) return 0;
  if (after == size()) return size() - 1;
  return value - x_[after - 1] <= x_[after] - value ? after - 1 : after;
}

Extent Series::extent(std::size_t first, std::size_t last) const {
  Extent result;
  last = std::min(last, size());
  if (first >= last) return result;
  // Up the pyramid: an entry that the level above would share with a neighbour outside the range is taken here.
  if (first % 2 == 1) result.include(y_[first++]);
  if (last % 2 == 1 && first < last) result.include(y_[--last]);
  first /= 2;
  last /= 2;
  for (const auto& level : levels_) {
    if (first >= last) break;
    if (first % 2 == 1) result.include(level[first++]);
    if (last % 2 == 1 && first < last) result.include(level[--last]);
    first /= 2;
    last /= 2;
  }
  return result;
}

std::vector<Column> Series::columns(double x0, double x1, int count) const {
  std::vector<Column> result(static_cast<std::size_t>(std::max(count, 0)));
  if (count <= 0) return result;
  const double width = (x1 - x0) / count;
  std::size_t from = lower_bound(x0);
  for (int i = 0; i < count; ++i) {
    const double end = i + 1 == count ? x1 : x0 + (i + 1) * width;
    const std::size_t to = static_cast<std::size_t>(
        std::lower_bound(x_.begin() + static_cast<std::ptrdiff_t>(from), x_.end(), end) - x_.begin());
    result[static_cast<std::size_t>(i)] = {from, to, extent(from, to)};
    from = to;
  }
  return result;
}

}  // namespace warpscope::ui::plot
