#pragma once
// Smoothing of a curve as it grows.

#include <cstddef>

namespace warpscope::ui::plot {

/// Exponential moving average whose window grows with the curve, one value in, one out:
///   out_t = out_(t-1) + a_t (y_t - out_(t-1)),  a_t = max(1 - w, 5 / (t + 4)),
/// with 0 <= w < 1. So out_1 = y_1, and while the curve is shorter than five times the window of w, the last
/// fifth of it counts most: what leaps in the first steps has no weight left a few dozen steps later, where a
/// window of one size throughout would carry it on. Values that are not finite come out as NaN and leave the
/// average as it was.
class Smoother {
 public:
  explicit Smoother(double weight) : weight_(weight) {}
  float next(float y);
  /// What came so far counts no more.
  void begin_anew() { *this = Smoother(weight_); }

 private:
  double weight_;
  double mean_ = 0;
  double count_ = 0;
};

/// The weight of an average over about `steps` values: 1 - 1 / steps; 0 for 1 or fewer.
double weight_for(double steps);

}  // namespace warpscope::ui::plot
