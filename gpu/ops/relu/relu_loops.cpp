// relu, variant `loops`: one loop over all elements, which the compiler turns into vector compares
// and selects. Limits: none on the shape; one thread. Source: relu.h.

#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/relu/relu.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::relu {
namespace {

// "0 if x < 0" and not max(x, 0): a NaN compares false and passes through.
template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  T* y = call.operand<T>(Name::output);
  const std::int64_t elements = s.batch * s.height * s.width * s.in_channels;
  for (std::int64_t i = 0; i < elements; ++i) y[i] = to_float(x[i]) < 0.0f ? T{} : x[i];
}

template <class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* y = call.operand<const T>(Name::output);
  const T* dy = call.operand<const T>(Name::output_gradient);
  T* dx = call.operand<T>(Name::input_gradient);
  const std::int64_t elements = s.batch * s.height * s.width * s.in_channels;
  for (std::int64_t i = 0; i < elements; ++i) {
    // Read either way: that makes it a select, and not a branch that half of the elements mispredict.
    const T gradient = dy[i];
    dx[i] = to_float(y[i]) > 0.0f ? gradient : T{};
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
  return loops(Op::relu_forward, by_storage<forward<float>, forward<BFloat16>>);
}
Variant loops_backward() {
  return loops(Op::relu_backward, by_storage<backward<float>, backward<BFloat16>>);
}

}  // namespace warpscope::ops::relu
