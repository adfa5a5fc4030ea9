// conv2d, variant `loops`: the historic baseline. Nested loops in FP32 on one thread, each sum kept in a
// float; over `reference` it adds only that rows are walked through pointers with the contiguous channels
// innermost. Limits: none on the shape. Source: the formulas in conv2d.h.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/conv2d_variants.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::conv2d {
namespace {

/// The part of 0..size-1 for which i + shift lies inside as well.
struct Inside {
  int first;
  int end;
  Inside(int size, int shift) : first(std::max(0, -shift)), end(std::min(size, size - shift)) {}
};

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const float> x{call.operand<const float>(kForwardInput), s.height, s.width, s.in_channels};
  const View4<const float> weights{call.operand<const float>(kForwardWeights), s.kernel_height,
                                   s.kernel_width, s.in_channels};
  float* y = call.operand<float>(kForwardOutput);
  const int p = (s.kernel_height - 1) / 2;
  const int q = (s.kernel_width - 1) / 2;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int h = 0; h < s.height; ++h) {
      for (int w = 0; w < s.width; ++w) {
        for (int k = 0; k < s.out_channels; ++k) {
          float sum = 0;
          for (int r = 0; r < s.kernel_height; ++r) {
            for (int t = 0; t < s.kernel_width; ++t) {
              if (!x.contains(h + r - p, w + t - q)) continue;
              const float* from = x.at(n, h + r - p, w + t - q);
              const float* weight = weights.at(k, r, t);
              for (int c = 0; c < s.in_channels; ++c) sum += from[c] * weight[c];
            }
          }
          *y++ = sum;
        }
      }
    }
  }
}

void backward_input(const OpCall& call) {
  const OpShape& s = call.shape;
  const float* dy = call.operand<const float>(kInputOutputGradient);
  const View4<const float> weights{call.operand<const float>(kInputWeights), s.kernel_height, s.kernel_width,
                                   s.in_channels};
  const View4<float> dx{call.operand<float>(kInputInputGradient), s.height, s.width, s.in_channels};
  const int p = (s.kernel_height - 1) / 2;
  const int q = (s.kernel_width - 1) / 2;
  std::fill_n(dx.data, s.batch * s.height * s.width * s.in_channels, 0.0f);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int h = 0; h < s.height; ++h) {
      for (int w = 0; w < s.width; ++w) {
        for (int k = 0; k < s.out_channels; ++k) {
          const float gradient = *dy++;
          for (int r = 0; r < s.kernel_height; ++r) {
            for (int t = 0; t < s.kernel_width; ++t) {
              if (!dx.contains(h + r - p, w + t - q)) continue;
              float* to = dx.at(n, h + r - p, w + t - q);
              const float* weight = weights.at(k, r, t);
              for (int c = 0; c < s.in_channels; ++c) to[c] += gradient * weight[c];
            }
          }
        }
      }
    }
  }
}

// Images are outermost: one image stays in cache while all weights pass over it.
void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const float> x{call.operand<const float>(kWeightsInput), s.height, s.width, s.in_channels};
  const View4<const float> dy{call.operand<const float>(kWeightsOutputGradient), s.height, s.width,
                              s.out_channels};
  const View4<float> dw{call.operand<float>(kWeightsGradient), s.kernel_height, s.kernel_width,
                        s.in_channels};
  std::fill_n(dw.data, dw.rows * dw.columns * dw.channels * s.out_channels, 0.0f);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int k = 0; k < s.out_channels; ++k) {
      for (int r = 0; r < s.kernel_height; ++r) {
        for (int t = 0; t < s.kernel_width; ++t) {
          const int down = r - (s.kernel_height - 1) / 2;
          const int right = t - (s.kernel_width - 1) / 2;
          const Inside rows(s.height, down);
          const Inside columns(s.width, right);
          float* sum = dw.at(k, r, t);
          for (int h = rows.first; h < rows.end; ++h) {
            for (int w = columns.first; w < columns.end; ++w) {
              const float gradient = dy(n, h, w, k);
              const float* from = x.at(n, h + down, w + right);
              for (int c = 0; c < s.in_channels; ++c) sum[c] += gradient * from[c];
            }
          }
        }
      }
    }
  }
}

// A row is summed by itself before it joins the total: the sum runs over every pixel of the batch, and so its
// rounding error stays that of two short sums.
void backward_bias(const OpCall& call) {
  const OpShape& s = call.shape;
  const float* dy = call.operand<const float>(kBiasOutputGradient);
  float* db = call.operand<float>(kBiasGradient);
  std::fill_n(db, s.out_channels, 0.0f);
  std::vector<float> row(static_cast<std::size_t>(s.out_channels));
  for (std::int64_t i = 0; i < s.batch * s.height; ++i) {
    std::fill(row.begin(), row.end(), 0.0f);
    for (int w = 0; w < s.width; ++w) {
      for (float& sum : row) sum += *dy++;
    }
    for (int k = 0; k < s.out_channels; ++k) db[k] += row[static_cast<std::size_t>(k)];
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "loops",
          .precisions = {core::Precision::fp32},
          .summary = "Nested loops in FP32 on one thread: the baseline that every speed-up is measured from.",
          .launch = run};
}

}  // namespace

Variant loops_forward() {
  return loops(Op::conv2d_forward, forward);
}
Variant loops_backward_input() {
  return loops(Op::conv2d_backward_input, backward_input);
}
Variant loops_backward_weights() {
  return loops(Op::conv2d_backward_weights, backward_weights);
}
Variant loops_backward_bias() {
  return loops(Op::conv2d_backward_bias, backward_bias);
}

}  // namespace warpscope::ops::conv2d
