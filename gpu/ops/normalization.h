#pragma once
// What layer_norm and batch_norm share, on the host and on the device.
//
// A mean as one FP32 number is too rough to subtract where it is many times the deviation, so kernels keep what
// rounding took from it apart, or subtract another number near it first: x minus a number of its size is exact
// (P. Sterbenz, "Floating-Point Computation", 1974).

#include <cmath>

#include "gpu/core/both.h"

namespace warpscope::ops {

/// Added to variances, as PyTorch does.
inline constexpr double kNormEpsilon = 1e-5;

/// 1 / sqrt(variance + epsilon). A variance that rounding made negative counts as 0; NaN stays NaN.
template <class T>
WARPSCOPE_BOTH T reciprocal_deviation(T variance) {
  const T not_negative = variance < T{0} ? T{0} : variance;
  return T{1} / std::sqrt(not_negative + static_cast<T>(kNormEpsilon));
}

/// The variance whose reciprocal_deviation() that is; not below 0, NaN stays NaN.
template <class T>
WARPSCOPE_BOTH T variance_of(T reciprocal_deviation) {
  const T deviation = T{1} / reciprocal_deviation;
  const T variance = deviation * deviation - static_cast<T>(kNormEpsilon);
  return variance < T{0} ? T{0} : variance;
}

}  // namespace warpscope::ops
