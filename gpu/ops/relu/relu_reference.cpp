// relu, variant `reference`: the formulas of relu.h in either element type; no sum, so nothing to accumulate.
// Limits: none. Source: relu.h.

#include <cstdint>

#include "gpu/ops/relu/relu.h"
#include "gpu/ops/relu/relu_variants.h"

namespace warpscope::ops::relu {
namespace {

std::int64_t elements(const OpShape& s) {
  return s.batch * s.height * s.width * s.in_channels;
}

// Written as "0 if x < 0" so that a NaN, which compares false with everything, passes through.
template <class T>
void forward(const OpCall& call) {
  const T* x = call.operand<const T>(kForwardInput);
  T* y = call.operand<T>(kForwardOutput);
  for (std::int64_t i = 0; i < elements(call.shape); ++i) y[i] = x[i] < T{0} ? T{0} : x[i];
}

template <class T>
void backward(const OpCall& call) {
  const T* y = call.operand<const T>(kBackwardOutput);
  const T* dy = call.operand<const T>(kBackwardOutputGradient);
  T* dx = call.operand<T>(kBackwardInputGradient);
  for (std::int64_t i = 0; i < elements(call.shape); ++i) dx[i] = y[i] > T{0} ? dy[i] : T{0};
}

template <auto Fp32, auto Fp64>
void launch(const OpCall& call) {
  call.precision == core::Precision::fp64 ? Fp64(call) : Fp32(call);
}

Variant reference(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "reference",
          .precisions = {core::Precision::fp32, core::Precision::fp64},
          .summary = "The formula element by element: what the others are held against.",
          .launch = run};
}

}  // namespace

Variant reference_forward() {
  return reference(Op::relu_forward, launch<forward<float>, forward<double>>);
}
Variant reference_backward() {
  return reference(Op::relu_backward, launch<backward<float>, backward<double>>);
}

}  // namespace warpscope::ops::relu
