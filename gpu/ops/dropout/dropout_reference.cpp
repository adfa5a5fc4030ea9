// dropout, variant `reference`: the formulas of dropout.cpp element by element, multiplied in double. Limits: none.
// Source: dropout.cpp.

#include <cstdint>

#include "gpu/ops/dropout/dropout.h"
#include "gpu/ops/dropout/mask.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::dropout {
namespace {

/// Both directions do the same.
template <class T, Name From, Name To>
void launch(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* from = call.operand<const T>(From);
  T* to = call.operand<T>(To);
  const std::uint64_t key = key_of(*call.operand<const step::StepControl>(Name::control), s.salt);
  const std::uint32_t threshold = threshold_of(s);
  const std::int64_t elements = sizes::input(s);
  for (std::int64_t i = 0; i < elements; ++i) {
    const bool kept = element_bits(key, static_cast<std::uint64_t>(i)) >= threshold;
    to[i] = static_cast<T>(double{from[i]} * (kept ? scale_of(s) : 0.0));
  }
}

template <Name From, Name To>
Variant reference(Op op) {
  Variant made = reference_variant(op, in_either_width<launch<float, From, To>, launch<double, From, To>>,
                                   "The formula element by element: what the others are held against.");
  made.refuses = refuses;
  return made;
}

}  // namespace

Variant reference_forward() {
  return reference<Name::input, Name::output>(Op::dropout_forward);
}
Variant reference_backward() {
  return reference<Name::output_gradient, Name::input_gradient>(Op::dropout_backward);
}

}  // namespace warpscope::ops::dropout
