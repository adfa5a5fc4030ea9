#pragma once
// Mean, extremes and the straight line through a range of a curve, in a time that does not grow with the range. No
// drawing here.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ui/plot/curve.h"

namespace warpscope::ui::plot {

/// The axes on which the line is straight.
struct Axes {
  bool log_x = false;
  bool log_y = false;
  bool operator==(const Axes&) const = default;
};

/// v = mean_v + slope (u - mean_u) with u = x, or ln x on a logarithmic axis, and v likewise of y: so a line, an
/// exponential (log y), a logarithm (log x) or a power law (both).
struct Fit {
  Axes axes;
  double mean_u = 0;
  double mean_v = 0;
  double slope = 0;
  double r2 = 0;       ///< share of the variance of v that the line explains; 1 if v does not vary
  bool valid = false;  ///< there are two points of different x

  /// The line's y at x.
  double at(double x) const;
};

/// Figures of the finite values in a range.
struct RangeFigures {
  std::size_t points = 0;
  double mean = 0;
  double low = 0;
  double high = 0;
  Fit fit;  ///< of the points that have a place on the axes
};

/// Sums of points, centred at their means, so that two sets of sums merge without cancellation (Chan, Golub and
/// LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979).
struct Moments {
  double count = 0;   ///< finite values
  double mean = 0;    ///< of y
  double placed = 0;  ///< points that have a place on the axes
  double mean_u = 0;
  double mean_v = 0;
  double uu = 0;  ///< sum of (u - mean_u)^2
  double uv = 0;
  double vv = 0;

  void add(double x, double y, Axes axes);
  void merge(const Moments& other);
};

/// The moments of blocks of a curve that grows.
class RangeSums {
 public:
  /// Takes in at most `most` points more, or begins anew if the axes are others or the curve was cleared. True once
  /// all whole blocks are in.
  bool follow(const Series& series, Axes axes, std::size_t most);
  /// Figures of the points [first, last) of the series that was followed to its end. Exact but for rounding.
  RangeFigures figures(const Series& series, std::size_t first, std::size_t last) const;

 private:
  Moments sum(const Series& series, std::size_t first, std::size_t last) const;

  Axes axes_;
  const Series* series_ = nullptr;
  std::uint64_t generation_ = 0;
  std::vector<Moments> blocks_;
};

}  // namespace warpscope::ui::plot
