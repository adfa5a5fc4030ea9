// gelu, variant `loops`: one loop over all elements in FP32, with the error function of the C library. Limits: none
// on the shape; one thread. Source: gelu.h.

#include <cstdint>

#include "gpu/ops/gelu/gelu.h"
#include "gpu/ops/gelu/gelu_value.h"
#include "gpu/ops/loops_storage.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::gelu {
namespace {

template <class T>
void forward(const OpCall& call) {
  const T* x = call.operand<const T>(Name::input);
  T* y = call.operand<T>(Name::output);
  const std::int64_t elements = sizes::input(call.shape);
  for (std::int64_t i = 0; i < elements; ++i) y[i] = from_float<T>(value_at(to_float(x[i])));
}

template <class T>
void backward(const OpCall& call) {
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  T* dx = call.operand<T>(Name::input_gradient);
  const std::int64_t elements = sizes::input(call.shape);
  for (std::int64_t i = 0; i < elements; ++i) {
    dx[i] = from_float<T>(to_float(dy[i]) * slope_at(to_float(x[i])));
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "loops",
          .precisions = loops_precisions(),
          .presets = {{"loops"}},
          .summary = "A loop over all elements on one thread.",
          .launch = run};
}

}  // namespace

Variant loops_forward() {
  return loops(Op::gelu_forward, by_storage<forward<float>, forward<BFloat16>>);
}
Variant loops_backward() {
  return loops(Op::gelu_backward, by_storage<backward<float>, backward<BFloat16>>);
}

}  // namespace warpscope::ops::gelu
