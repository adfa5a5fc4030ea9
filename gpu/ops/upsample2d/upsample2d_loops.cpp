// upsample2d, variant `loops`: FP32 loops over the small image, whole runs of channels copied or added at a
// time. Limits: none on the shape; one thread. Source: upsample2d.h.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/upsample2d/upsample2d.h"
#include "gpu/ops/upsample2d/upsample2d_variants.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::upsample2d {
namespace {

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const float* x = call.operand<const float>(kForwardInput);
  const View4<float> y{call.operand<float>(kForwardOutput), 2 * s.height, 2 * s.width, s.in_channels};
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int h = 0; h < s.height; ++h) {
      for (int w = 0; w < s.width; ++w) {
        std::copy_n(x, s.in_channels, y.at(n, 2 * h, 2 * w));
        std::copy_n(x, s.in_channels, y.at(n, 2 * h, 2 * w + 1));
        std::copy_n(x, s.in_channels, y.at(n, 2 * h + 1, 2 * w));
        std::copy_n(x, s.in_channels, y.at(n, 2 * h + 1, 2 * w + 1));
        x += s.in_channels;
      }
    }
  }
}

void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const float> dy{call.operand<const float>(kBackwardOutputGradient), 2 * s.height, 2 * s.width,
                              s.in_channels};
  float* dx = call.operand<float>(kBackwardInputGradient);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int h = 0; h < s.height; ++h) {
      for (int w = 0; w < s.width; ++w) {
        const float* upper = dy.at(n, 2 * h, 2 * w);
        const float* lower = dy.at(n, 2 * h + 1, 2 * w);
        for (int c = 0; c < s.in_channels; ++c) {
          dx[c] = upper[c] + upper[s.in_channels + c] + lower[c] + lower[s.in_channels + c];
        }
        dx += s.in_channels;
      }
    }
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "loops",
          .precisions = {core::Precision::fp32},
          .summary = "A loop over the pixels of the small image in FP32 on one thread.",
          .launch = run};
}

}  // namespace

Variant loops_forward() {
  return loops(Op::upsample2d_forward, forward);
}
Variant loops_backward() {
  return loops(Op::upsample2d_backward, backward);
}

}  // namespace warpscope::ops::upsample2d
