// bias.forward, variant `loops`: pixel by pixel in FP32, the channels innermost. Over `reference` it adds
// that no index is divided, so that the inner loop is a plain vector sum. Limits: none on the shape; one
// thread. Source: bias.h.

#include <cstdint>

#include "gpu/ops/bias/bias.h"
#include "gpu/ops/bias/bias_variants.h"

namespace warpscope::ops::bias {
namespace {

void launch(const OpCall& call) {
  const OpShape& s = call.shape;
  const float* x = call.operand<const float>(kForwardInput);
  const float* b = call.operand<const float>(kForwardBias);
  float* y = call.operand<float>(kForwardOutput);
  const std::int64_t pixels = s.batch * s.height * s.width;
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int c = 0; c < s.in_channels; ++c) y[c] = x[c] + b[c];
    x += s.in_channels;
    y += s.in_channels;
  }
}

}  // namespace

Variant loops_forward() {
  return {.op = Op::bias_forward,
          .name = "loops",
          .precisions = {core::Precision::fp32},
          .summary = "A loop over the pixels in FP32 on one thread.",
          .launch = launch};
}

}  // namespace warpscope::ops::bias
