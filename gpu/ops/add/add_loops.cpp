// add.forward, variant `loops`: element by element, added in FP32: a plain vector sum. Limits: one thread. Source:
// add.h.

#include <cstdint>

#include "gpu/ops/add/add.h"
#include "gpu/ops/loops_storage.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::add {
namespace {

template <class T>
void launch(const OpCall& call) {
  const T* a = call.operand<const T>(Name::input);
  const T* b = call.operand<const T>(Name::addend);
  T* y = call.operand<T>(Name::output);
  const std::int64_t elements = sizes::input(call.shape);
  for (std::int64_t i = 0; i < elements; ++i) y[i] = from_float<T>(to_float(a[i]) + to_float(b[i]));
}

}  // namespace

Variant loops_forward() {
  return {.op = Op::add_forward,
          .name = "loops",
          .precisions = loops_precisions(),
          .presets = {{"loops"}},
          .summary = "A loop over the elements on one thread.",
          .launch = by_storage<launch<float>, launch<BFloat16>>};
}

}  // namespace warpscope::ops::add
