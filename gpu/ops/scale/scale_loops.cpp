// scale, variant `loops`: one loop over all elements, multiplied in FP32. Over `reference` it adds that the compiler
// makes vectors of it. Limits: none on the shape; one thread. Source: scale.h.

#include <cstdint>

#include "gpu/ops/loops_storage.h"
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
  const float factor = call.shape.factor;
  const std::int64_t elements = sizes::input(call.shape);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = from_float<T>(factor * to_float(from[i]));
}

template <Name From, Name To>
Variant loops(Op op) {
  return {.op = op,
          .name = "loops",
          .precisions = loops_precisions(),
          .presets = {{"loops"}},
          .summary = "A loop over all elements on one thread.",
          .launch = by_storage<launch<float, From, To>, launch<BFloat16, From, To>>,
          .refuses = refuses};
}

}  // namespace

Variant loops_forward() {
  return loops<Name::input, Name::output>(Op::scale_forward);
}
Variant loops_backward() {
  return loops<Name::output_gradient, Name::input_gradient>(Op::scale_backward);
}

}  // namespace warpscope::ops::scale
