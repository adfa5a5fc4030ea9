#pragma once
// The formula of dropout.cpp for pointwise variants (pointwise/pointwise.h): both directions do the same. Two elements
// share 64 random bits, which are drawn once where both are at hand. `reference` has its own in double.

#include <cstdint>

#include "gpu/core/both.h"
#include "gpu/ops/dropout/mask.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::dropout {

/// Drops elements of one call: a product, not a choice, since what is not finite must not be dropped unseen.
struct Dropping {
  std::uint64_t key;
  std::uint32_t threshold;
  float scale;

  template <int W>
  WARPSCOPE_BOTH void apply(std::uint64_t first, float (&values)[W]) const {
    if constexpr (W == 1) {
      values[0] *= factor(element_bits(key, first));
    } else {
      for (int k = 0; k < W; k += 2) {
        const std::uint64_t bits = pair_bits(key, first / 2 + static_cast<unsigned>(k) / 2);
        values[k] *= factor(static_cast<std::uint32_t>(bits));
        values[k + 1] *= factor(static_cast<std::uint32_t>(bits >> 32));
      }
    }
  }
  WARPSCOPE_BOTH float factor(std::uint32_t bits) const { return bits >= threshold ? scale : 0.0f; }
};

template <Op O, Name From, Name To>
struct Dropped {
  static constexpr Op kOp = O;
  static constexpr Name kFrom = From;
  static constexpr Name kTo = To;
  const step::StepControl* control;
  std::uint32_t salt;
  std::uint32_t threshold;
  float scale;
  explicit Dropped(const OpCall& call)
      : control(call.operand<const step::StepControl>(Name::control)),
        salt(call.shape.salt),
        threshold(threshold_of(call.shape)),
        scale(static_cast<float>(scale_of(call.shape))) {}
  WARPSCOPE_BOTH Dropping begin() const { return {key_of(*control, salt), threshold, scale}; }
};

using Forward = Dropped<Op::dropout_forward, Name::input, Name::output>;
using Backward = Dropped<Op::dropout_backward, Name::output_gradient, Name::input_gradient>;

}  // namespace warpscope::ops::dropout
