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
  x_.push_back(x);
  y_.push_back(y);
  // An entry of a level is made when both entries below it are there. extent() asks for no other.
  std::size_t index = x_.size() - 1;
  for (std::size_t level = 0; index % 2 == 1; ++level, index /= 2) {
    Extent pair;
    if (level == 0) {
      pair.include(y_[index - 1]);
      pair.include(y_[index]);
    } else {
      pair = levels_[level - 1][index - 1];
      pair.include(levels_[level - 1][index]);
    }
    if (level == levels_.size()) levels_.emplace_back();
    levels_[level].push_back(pair);
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
  // Up the pyramid: an entry that the level above would share with a neighbour outside the range is taken
  // here.
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
