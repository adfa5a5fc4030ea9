#pragma once
// The formulas of gelu.cpp for pointwise variants (pointwise/pointwise.h). `reference` has its own in double. erff: "CUDA
// Math API".

#include <cmath>

#include "gpu/core/both.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::gelu {

inline constexpr float kRootOfHalf = 0.70710678118654752f;      ///< 1 / sqrt(2)
inline constexpr float kHighestDensity = 0.39894228040143268f;  ///< phi(0) = 1 / sqrt(2 pi)

struct Forward {
  static constexpr Op kOp = Op::gelu_forward;
  static constexpr Name kFrom = Name::input;
  static constexpr Name kTo = Name::output;
  explicit Forward(const OpCall&) {}
  /// x Phi(x)
  WARPSCOPE_BOTH float operator()(float x) const { return 0.5f * x * (1.0f + erff(x * kRootOfHalf)); }
};

struct Backward {
  static constexpr Op kOp = Op::gelu_backward;
  static constexpr Name kFrom = Name::output_gradient;
  static constexpr Name kBeside = Name::input;
  static constexpr Name kTo = Name::input_gradient;
  static constexpr bool kReadsOnce = false;
  explicit Backward(const OpCall&) {}
  /// dy (Phi(x) + x phi(x)), the derivative of x Phi(x)
  WARPSCOPE_BOTH float operator()(float dy, float x) const {
    const float below = 0.5f * (1.0f + erff(x * kRootOfHalf));
    return dy * (below + x * kHighestDensity * expf(-0.5f * x * x));
  }
};

}  // namespace warpscope::ops::gelu
