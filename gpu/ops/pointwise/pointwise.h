#pragma once
// Ops that make each element of a tensor from the element at the same place in one or two others. Such an op is a
// formula; its variants `loops`, `naive` and `vectorized` come from it. A formula is a struct of plain data:
//
//   static constexpr Op kOp;            the op that it computes
//   static constexpr Name kFrom, kTo;   read and written; both may be the same memory
//   static constexpr Name kSecond;      read too, memory of its own; left out by formulas of one operand
//   static constexpr bool kReadsOnce;   if true, nobody reads kSecond again soon
//   explicit Formula(const OpCall&);    takes from the call what is not in tensors
//   float operator()(float from, float second) const;    without `second` where there is none
//
// A formula that depends on the place has, instead of the operator,
//
//   auto begin() const;                 what a thread finds once, with
//   template <int W> void apply(std::uint64_t first, float (&values)[W]) const;
//
// which changes the elements from `first` on, a multiple of W; W is 1 or even.

#include <cstdint>

#include "gpu/core/both.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::pointwise {

template <class Formula>
inline constexpr bool kHasSecond = requires {
  Formula::kSecond;
};
template <class Formula>
inline constexpr bool kHasPlaces = requires(const Formula& formula) {
  formula.begin();
};

/// What a thread works with.
template <class Formula>
WARPSCOPE_BOTH auto begin(const Formula& formula) {
  if constexpr (kHasPlaces<Formula>) {
    return formula.begin();
  } else {
    return formula;
  }
}

/// Changes W elements from `first` on, in FP32.
template <class Formula, int W, class Each>
WARPSCOPE_BOTH void apply(const Each& each, std::uint64_t first, float (&values)[W],
                          const float (&second)[W]) {
  if constexpr (kHasPlaces<Formula>) {
    each.apply(first, values);
  } else if constexpr (kHasSecond<Formula>) {
    for (int k = 0; k < W; ++k) values[k] = each(values[k], second[k]);
  } else {
    for (int k = 0; k < W; ++k) values[k] = each(values[k]);
  }
}

/// The second operand, or nothing.
template <class T, class Formula>
const T* second_of(const OpCall& call) {
  if constexpr (kHasSecond<Formula>) {
    return call.operand<const T>(Formula::kSecond);
  } else {
    return nullptr;
  }
}

}  // namespace warpscope::ops::pointwise
