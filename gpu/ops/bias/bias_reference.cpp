// bias.forward, variant `reference`: the formula of bias.cpp, added in double. Limits: none. Source: bias.cpp.

#include <cstdint>

#include "gpu/ops/variant.h"

namespace warpscope::ops::bias {
namespace {

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  const T* b = call.operand<const T>(Name::bias);
  T* y = call.operand<T>(Name::output);
  const std::int64_t elements = s.batch * s.height * s.width * s.in_channels;
  for (std::int64_t i = 0; i < elements; ++i) {
    y[i] = static_cast<T>(double{x[i]} + double{b[i % s.in_channels]});
  }
}

void launch(const OpCall& call) {
  call.precision == core::Precision::fp64 ? forward<double>(call) : forward<float>(call);
}

}  // namespace

Variant reference_forward() {
  return {.op = Op::bias_forward,
          .name = "reference",
          .precisions = {core::Precision::fp32, core::Precision::fp64},
          .summary = "The formula element by element, added in double: what the others are held against.",
          .launch = launch};
}

}  // namespace warpscope::ops::bias
