// maxpool2d, variant `loops`: FP32 loops over pairs of rows, the four places of a window read from four
// streams of contiguous channels. Over `reference` it adds that order. Limits: none on the shape; one thread.
// Source: maxpool2d.h.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/maxpool2d/maxpool2d_variants.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::maxpool2d {
namespace {

// Selects without branches: the compiler takes several channels at a time.
float larger(float best, float value) {
  return ((value > best) | (value != value)) ? value : best;
}

// Whether `value` is the maximum that `larger` found. If one of the window is NaN, so is the maximum.
bool is_maximum(float value, float maximum) {
  return (value == maximum) | (value != value);
}

/// One pixel of the output from two pixels each of two rows.
void pool(const float* upper, const float* lower, int channels, float* y, std::uint8_t* argmax) {
  for (int c = 0; c < channels; ++c) {
    y[c] = larger(larger(larger(upper[c], upper[channels + c]), lower[c]), lower[channels + c]);
  }
  for (int c = 0; c < channels; ++c) {
    int code = 3;
    code = is_maximum(lower[c], y[c]) ? 2 : code;
    code = is_maximum(upper[channels + c], y[c]) ? 1 : code;
    code = is_maximum(upper[c], y[c]) ? 0 : code;
    argmax[c] = static_cast<std::uint8_t>(code);
  }
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const float> x{call.operand<const float>(kForwardInput), s.height, s.width, s.in_channels};
  float* y = call.operand<float>(kForwardOutput);
  auto* argmax = call.operand<std::uint8_t>(kForwardArgmax);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int i = 0; i < s.height / 2; ++i) {
      for (int j = 0; j < s.width / 2; ++j) {
        pool(x.at(n, 2 * i, 2 * j), x.at(n, 2 * i + 1, 2 * j), s.in_channels, y, argmax);
        y += s.in_channels;
        argmax += s.in_channels;
      }
    }
  }
}

void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const float* dy = call.operand<const float>(kBackwardOutputGradient);
  const auto* argmax = call.operand<const std::uint8_t>(kBackwardArgmax);
  const View4<float> dx{call.operand<float>(kBackwardInputGradient), s.height, s.width, s.in_channels};
  std::fill_n(dx.data, s.batch * s.height * s.width * s.in_channels, 0.0f);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int i = 0; i < s.height / 2; ++i) {
      for (int j = 0; j < s.width / 2; ++j) {
        for (int c = 0; c < s.in_channels; ++c) {
          const int code = *argmax++;
          dx(n, 2 * i + code / 2, 2 * j + code % 2, c) = *dy++;
        }
      }
    }
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "loops",
          .precisions = {core::Precision::fp32},
          .summary = "A loop over the windows in FP32 on one thread.",
          .launch = run};
}

}  // namespace

Variant loops_forward() {
  return loops(Op::maxpool2d_forward, forward);
}
Variant loops_backward() {
  return loops(Op::maxpool2d_backward, backward);
}

}  // namespace warpscope::ops::maxpool2d
