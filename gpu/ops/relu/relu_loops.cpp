// relu, variant `loops`: one loop over all elements in FP32, which the compiler turns into vector compares
// and selects. Limits: none on the shape; one thread. Source: relu.h.

#include <cstdint>

#include "gpu/ops/relu/relu.h"
#include "gpu/ops/relu/relu_variants.h"

namespace warpscope::ops::relu {
namespace {

// "0 if x < 0" and not max(x, 0): a NaN compares false and passes through.
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const float* x = call.operand<const float>(kForwardInput);
  float* y = call.operand<float>(kForwardOutput);
  const std::int64_t elements = s.batch * s.height * s.width * s.in_channels;
  for (std::int64_t i = 0; i < elements; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const float* y = call.operand<const float>(kBackwardOutput);
  const float* dy = call.operand<const float>(kBackwardOutputGradient);
  float* dx = call.operand<float>(kBackwardInputGradient);
  const std::int64_t elements = s.batch * s.height * s.width * s.in_channels;
  for (std::int64_t i = 0; i < elements; ++i) {
    // Read either way: that makes it a select, and not a branch that half of the elements mispredict.
    const float gradient = dy[i];
    dx[i] = y[i] > 0.0f ? gradient : 0.0f;
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "loops",
          .precisions = {core::Precision::fp32},
          .summary = "A loop over all elements in FP32 on one thread.",
          .launch = run};
}

}  // namespace

Variant loops_forward() {
  return loops(Op::relu_forward, forward);
}
Variant loops_backward() {
  return loops(Op::relu_backward, backward);
}

}  // namespace warpscope::ops::relu
