#pragma once
// A curve of any number of points that can be drawn in the time its pixels take, with every spike.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace warpscope::ui::plot {

/// The smallest and largest y of some points; an empty extent has low > high.
struct Extent {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();
  float least_positive =
      std::numeric_limits<float>::infinity();  ///< the lowest on a logarithmic axis; infinity: none

  bool empty() const { return low > high; }
  /// Takes `y` in; values that are not finite are gaps and change nothing.
  void include(float y) {
    if (std::isfinite(y)) include(Extent{y, y, y > 0 ? y : std::numeric_limits<float>::infinity()});
  }
  void include(const Extent& other) {
    low = other.low < low ? other.low : low;
    high = other.high > high ? other.high : high;
    least_positive = other.least_positive < least_positive ? other.least_positive : least_positive;
  }
};

/// What falls into one column of pixels.
struct Column {
  std::size_t first = 0;  ///< index of the first point
  std::size_t last = 0;   ///< one past the last point; first == last if there is none
  Extent extent;          ///< of the points' y
};

/// Points in the order of their x. Values of y that are not finite (NaN, infinity) are gaps.
///
/// Over the points lies a pyramid of extents, each level a quarter as long as the one below (level 0 covers
/// four points), so that the extent of any range is found from O(log n) entries: no point is dropped,
/// whatever the zoom.
class Series {
 public:
  /// Adds a point. `x` must not be smaller than the last one's: if it is, the last one's is used.
  void append(double x, float y);
  /// From now on point i stands at x[i], for as long as the series lives: a column that never falls, has at least as
  /// many values as the series, and is shared by all series of a table. Its own x are dropped, its y stay, so that
  /// another axis costs no time.
  void share_x(const std::vector<double>& x);
  /// Adds a point to a series that shares its x.
  void append(float y);
  /// Makes room for so many points, so that append() need not move those there are.
  void reserve(std::size_t points);
  /// Drops the points from `size` on.
  void cut(std::size_t size);
  void clear();

  std::size_t size() const { return y_.size(); }
  bool empty() const { return y_.empty(); }
  double x(std::size_t i) const { return xs()[i]; }
  float y(std::size_t i) const { return y_[i]; }

  /// Index of the first point with x >= `value`; size() if there is none.
  std::size_t lower_bound(double value) const;
  /// Index of the point nearest to `value` in x. The series must not be empty.
  std::size_t nearest(double value) const;
  /// The exact extent of the points [first, last).
  Extent extent(std::size_t first, std::size_t last) const;
  /// `count` columns of equal width over [x0, x1): column i holds the points with
  /// x0 + i w <= x < x0 + (i + 1) w, w = (x1 - x0) / count. On a logarithmic axis, where x0 > 0, with
  /// x0 r^i <= x < x0 r^(i + 1), r = (x1 / x0)^(1 / count).
  std::vector<Column> columns(double x0, double x1, int count, bool logarithmic = false) const;
  /// Another number for every series and after each clear(), cut() and share_x(): tells whether what was computed from
  /// the first points still holds.
  std::uint64_t generation() const { return generation_; }

 private:
  static std::uint64_t next_generation();
  /// lower_bound() for a `value` that is above all points before `from`; fast if the answer is near `guess`.
  std::size_t lower_bound_near(double value, std::size_t from, std::size_t guess) const;

  const std::vector<double>& xs() const { return shared_ == nullptr ? x_ : *shared_; }

  std::vector<double> x_;
  const std::vector<double>* shared_ = nullptr;
  std::vector<float> y_;
  std::vector<std::vector<Extent>> levels_;
  std::uint64_t generation_ = next_generation();
};

}  // namespace warpscope::ui::plot
