#include "ui/plot/curve.h"

#include <algorithm>

namespace warpscope::ui::plot {
namespace {

// Points or entries to an entry of the level above. With more of them an extent would look at more entries,
// with fewer at more levels, each in memory of its own.
constexpr std::size_t kBranches = 4;

// Adds the first and the last kBranches - 1 of [first, last), or all if there are fewer. Some of them twice,
// or as part of an entry above too: that is cheaper than branches that cannot be predicted.
template <typename Entries>
void include_ends(const Entries& entries, std::size_t first, std::size_t last, Extent& result) {
  for (std::size_t i = 0; i + 1 < kBranches; ++i) {
    result.include(entries[std::min(first + i, last - 1)]);
    result.include(entries[last - 1 - std::min(i, last - 1 - first)]);
  }
}

}  // namespace

void Series::append(double x, float y) {
  if (!x_.empty() && !(x >= x_.back())) x = x_.back();
  x_.push_back(x);
  append(y);
}

void Series::append(float y) {
  y_.push_back(y);
  // An entry of a level is made when all entries below it are there. extent() asks for no other.
  std::size_t size = y_.size();
  for (std::size_t level = 0; size % kBranches == 0; ++level, size /= kBranches) {
    if (level == levels_.size()) levels_.emplace_back();
    Extent entry;
    for (std::size_t i = size - kBranches; i < size; ++i) {
      if (level == 0) {
        entry.include(y_[i]);
      } else {
        entry.include(levels_[level - 1][i]);
      }
    }
    levels_[level].push_back(entry);
  }
}

std::uint64_t Series::next_generation() {
  static std::uint64_t generation = 0;
  return ++generation;
}

void Series::share_x(const std::vector<double>& x) {
  shared_ = &x;
  x_ = {};
  generation_ = next_generation();
}

void Series::reserve(std::size_t points) {
  y_.reserve(points);
  if (shared_ == nullptr) x_.reserve(points);
  std::size_t level = 0;
  for (std::size_t entries = points / kBranches; entries > 0; entries /= kBranches, ++level) {
    if (level == levels_.size()) levels_.emplace_back();
    levels_[level].reserve(entries);
  }
}

void Series::cut(std::size_t size) {
  if (size >= y_.size()) return;
  y_.resize(size);
  x_.resize(std::min(size, x_.size()));
  for (auto& level : levels_) level.resize(size /= kBranches);
  generation_ = next_generation();
}

void Series::clear() {
  x_.clear();
  y_.clear();
  levels_.clear();
  generation_ = next_generation();
}

std::size_t Series::lower_bound(double value) const {
  const auto begin = xs().begin();
  return static_cast<std::size_t>(
      std::lower_bound(begin, begin + static_cast<std::ptrdiff_t>(size()), value) - begin);
}

std::size_t Series::nearest(double value) const {
  const std::size_t after = lower_bound(value);
  if (after == 0) return 0;
  if (after == size()) return size() - 1;
  return value - x(after - 1) <= x(after) - value ? after - 1 : after;
}

Extent Series::extent(std::size_t first, std::size_t last) const {
  Extent result;
  last = std::min(last, size());
  if (first >= last) return result;
  // Up the pyramid: each level adds what the level above may lack at both ends.
  include_ends(y_, first, last, result);
  for (const auto& level : levels_) {
    first = (first + kBranches - 1) / kBranches;
    last /= kBranches;
    if (first >= last) break;
    include_ends(level, first, last, result);
  }
  return result;
}

std::size_t Series::lower_bound_near(double value, std::size_t from, std::size_t guess) const {
  // Away from the guess in steps that double, until the answer is enclosed: it is in [low, high].
  const std::vector<double>& x = xs();
  std::size_t low = from, high = size();
  guess = std::clamp(guess, low, high);
  if (guess < high && x[guess] < value) {
    low = guess + 1;
    for (std::size_t step = 1; low + step < high; step *= 2) {
      if (x[low + step] >= value) {
        high = low + step;
        break;
      }
      low += step + 1;
    }
  } else {
    high = guess;
    for (std::size_t step = 1; low + step <= high; step *= 2) {
      if (x[high - step] < value) {
        low = high - step + 1;
        break;
      }
      high -= step;
    }
  }
  const auto begin = x.begin();
  return static_cast<std::size_t>(std::lower_bound(begin + static_cast<std::ptrdiff_t>(low),
                                                   begin + static_cast<std::ptrdiff_t>(high), value) -
                                  begin);
}

std::vector<Column> Series::columns(double x0, double x1, int count, bool logarithmic) const {
  std::vector<Column> result(static_cast<std::size_t>(std::max(count, 0)));
  if (count <= 0) return result;
  const double width = (logarithmic ? std::log(x1 / x0) : x1 - x0) / count;
  std::size_t from = lower_bound(x0), held = 0;
  for (int i = 0; i < count; ++i) {
    const double offset = (i + 1) * width;
    const double end = i + 1 == count ? x1 : logarithmic ? x0 * std::exp(offset) : x0 + offset;
    const std::size_t to = lower_bound_near(end, from, from + held);  // about as many as in the column before
    result[static_cast<std::size_t>(i)] = {from, to, extent(from, to)};
    held = to - from;
    from = to;
  }
  return result;
}

}  // namespace warpscope::ui::plot
