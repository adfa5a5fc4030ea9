#pragma once
// Smoothing of a curve as it grows.

#include <cstddef>

namespace warpscope::ui::plot {

/// Debiased exponential moving average, one value in, one out:
///   m_t = w m_(t-1) + (1 - w) y_t,  m_0 = 0,  out_t = m_t / (1 - w^t),
/// with 0 <= w < 1. The division takes out the pull towards zero of the first values; out_1 = y_1. Values
/// that are not finite come out as NaN and leave the average as it was.
/// Source: D. Kingma, J. Ba, "Adam" (2015), section 3; TensorBoard smooths the same way.
class Smoother {
 public:
  explicit Smoother(double weight) : weight_(weight) {}
  float next(float y);

 private:
  double weight_;
  double mean_ = 0;
  double remaining_ = 1;  // w^t
};

/// The weight of an average over about `steps` values: 1 - 1 / steps; 0 for 1 or fewer.
double weight_for(double steps);

}  // namespace warpscope::ui::plot
