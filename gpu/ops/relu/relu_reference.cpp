// relu, variant `reference`: the formulas of relu.cpp in either element type; no sum, so nothing to accumulate.
// Limits: none. Source: relu.cpp.

#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::relu {
namespace {

std::int64_t elements(const OpShape& s) {
  return s.batch * s.height * s.width * s.in_channels;
}

// Written as "0 if x < 0" so that a NaN, which compares false with everything, passes through.
template <class T>
void forward(const OpCall& call) {
  const T* x = call.operand<const T>(Name::input);
  T* y = call.operand<T>(Name::output);
  for (std::int64_t i = 0; i < elements(call.shape); ++i) y[i] = x[i] < T{0} ? T{0} : x[i];
}

template <class T>
void backward(const OpCall& call) {
  const T* y = call.operand<const T>(Name::output);
  const T* dy = call.operand<const T>(Name::output_gradient);
  T* dx = call.operand<T>(Name::input_gradient);
  for (std::int64_t i = 0; i < elements(call.shape); ++i) dx[i] = y[i] > T{0} ? dy[i] : T{0};
}

constexpr const char* kSummary = "The formula element by element: what the others are held against.";

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::relu_forward, in_either_width<forward<float>, forward<double>>, kSummary);
}
Variant reference_backward() {
  return reference_variant(Op::relu_backward, in_either_width<backward<float>, backward<double>>, kSummary);
}

}  // namespace warpscope::ops::relu
