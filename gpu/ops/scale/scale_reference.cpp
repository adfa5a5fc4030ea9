// scale, variant `reference`: the formulas of scale.cpp element by element, multiplied in double. Limits: none.
// Source: scale.cpp.

#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/scale/scale.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::scale {
namespace {

/// Both directions do the same.
template <class T, Name From, Name To>
void launch(const OpCall& call) {
  const T* from = call.operand<const T>(From);
  T* to = call.operand<T>(To);
  const double factor{call.shape.factor};
  const std::int64_t elements = sizes::input(call.shape);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = static_cast<T>(factor * double{from[i]});
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
  return reference<Name::input, Name::output>(Op::scale_forward);
}
Variant reference_backward() {
  return reference<Name::output_gradient, Name::input_gradient>(Op::scale_backward);
}

}  // namespace warpscope::ops::scale
