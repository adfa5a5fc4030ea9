#pragma once
// The formulas of gelu.cpp for pointwise variants (pointwise/pointwise.h). `reference` has its own in double. erff:
// "CUDA Math API".

#include <cmath>

#include "gpu/core/both.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::gelu {

inline constexpr float kRootOfHalf = 0.70710678118654752f;      ///< 1 / sqrt(2)
inline constexpr float kHighestDensity = 0.39894228040143268f;  ///< phi(0) = 1 / sqrt(2 pi)

/// x Phi(x)
WARPSCOPE_BOTH inline float value(float x) {
  return 0.5f * x * (1.0f + erff(x * kRootOfHalf));
}

/// Its derivative, Phi(x) + x phi(x)
WARPSCOPE_BOTH inline float slope(float x) {
  const float below = 0.5f * (1.0f + erff(x * kRootOfHalf));
  return below + x * kHighestDensity * expf(-0.5f * x * x);
}

struct Forward {
  static constexpr Op kOp = Op::gelu_forward;
  static constexpr Name kFrom = Name::input;
  static constexpr Name kTo = Name::output;
  explicit Forward(const OpCall&) {}
  WARPSCOPE_BOTH float operator()(float x) const { return value(x); }
};

struct Backward {
  static constexpr Op kOp = Op::gelu_backward;
  static constexpr Name kFrom = Name::output_gradient;
  static constexpr Name kSecond = Name::input;
  static constexpr Name kTo = Name::input_gradient;
  static constexpr bool kReadsOnce = false;
  explicit Backward(const OpCall&) {}
  WARPSCOPE_BOTH float operator()(float dy, float x) const { return dy * slope(x); }
};

}  // namespace warpscope::ops::gelu
