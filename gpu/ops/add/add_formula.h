#pragma once
// The formula of add.cpp for pointwise variants (pointwise/pointwise.h). `reference` has its own in double.

#include "gpu/core/both.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::add {

struct Forward {
  static constexpr Op kOp = Op::add_forward;
  static constexpr Name kFrom = Name::input;
  static constexpr Name kSecond = Name::addend;
  static constexpr Name kTo = Name::output;
  static constexpr bool kReadsOnce = false;
  explicit Forward(const OpCall&) {}
  WARPSCOPE_BOTH float operator()(float a, float b) const { return a + b; }
};

}  // namespace warpscope::ops::add
