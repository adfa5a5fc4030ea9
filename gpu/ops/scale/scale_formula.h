#pragma once
// The formula of scale.cpp for pointwise variants (pointwise/pointwise.h): both directions do the same. `reference` has
// its own in double.

#include "gpu/core/both.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::scale {

template <Op O, Name From, Name To>
struct Scaled {
  static constexpr Op kOp = O;
  static constexpr Name kFrom = From;
  static constexpr Name kTo = To;
  float factor;
  explicit Scaled(const OpCall& call) : factor(call.shape.factor) {}
  WARPSCOPE_BOTH float operator()(float x) const { return factor * x; }
};

using Forward = Scaled<Op::scale_forward, Name::input, Name::output>;
using Backward = Scaled<Op::scale_backward, Name::output_gradient, Name::input_gradient>;

}  // namespace warpscope::ops::scale
