#pragma once
// The formulas of relu.cpp for pointwise variants (pointwise/pointwise.h). `reference` has its own in double.

#include "gpu/core/both.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::relu {

struct Forward {
  static constexpr Op kOp = Op::relu_forward;
  static constexpr Name kFrom = Name::input;
  static constexpr Name kTo = Name::output;
  explicit Forward(const OpCall&) {}
  /// Not max(x, 0): a NaN compares false and passes through.
  WARPSCOPE_BOTH float operator()(float x) const { return x < 0.0f ? 0.0f : x; }
};

struct Backward {
  static constexpr Op kOp = Op::relu_backward;
  static constexpr Name kFrom = Name::output_gradient;
  static constexpr Name kSecond = Name::output;
  static constexpr Name kTo = Name::input_gradient;
  static constexpr bool kReadsOnce = true;
  explicit Backward(const OpCall&) {}
  WARPSCOPE_BOTH float operator()(float dy, float y) const { return y > 0.0f ? dy : 0.0f; }
};

}  // namespace warpscope::ops::relu
