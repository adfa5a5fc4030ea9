// mse, variant `loops`: FP32 loops over images and rows. A row is summed by itself, then the rows, then the
// images: the loss of a large batch is one sum of millions of terms, and in three levels its rounding error
// stays that of short sums. Limits: none on the shape; one thread. Source: mse.h; pairwise summation, N.
// Higham, "Accuracy and Stability of Numerical Algorithms", 4.1.

#include <cstdint>

#include "gpu/ops/mse/mse.h"
#include "gpu/ops/mse/mse_variants.h"

namespace warpscope::ops::mse {
namespace {

float squared_distance(const float* y, const float* t, std::int64_t elements) {
  float sum = 0;
  for (std::int64_t i = 0; i < elements; ++i) sum += (y[i] - t[i]) * (y[i] - t[i]);
  return sum;
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const float* y = call.operand<const float>(kForwardPrediction);
  const float* t = call.operand<const float>(kForwardTarget);
  float* image_errors = call.operand<float>(kForwardImageErrors);
  const std::int64_t row_size = std::int64_t{s.width} * s.in_channels;
  float loss = 0;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    float sum = 0;
    for (int h = 0; h < s.height; ++h) {
      sum += squared_distance(y, t, row_size);
      y += row_size;
      t += row_size;
    }
    image_errors[n] = sum / static_cast<float>(s.height * row_size);
    loss += image_errors[n];
  }
  *call.operand<float>(kForwardLoss) = loss / static_cast<float>(s.batch);
}

void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const float* y = call.operand<const float>(kBackwardPrediction);
  const float* t = call.operand<const float>(kBackwardTarget);
  float* dy = call.operand<float>(kBackwardGradient);
  const std::int64_t elements = s.batch * s.height * s.width * s.in_channels;
  const float scale = 2.0f / static_cast<float>(elements);
  for (std::int64_t i = 0; i < elements; ++i) dy[i] = scale * (y[i] - t[i]);
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "loops",
          .precisions = {core::Precision::fp32},
          .summary = "A loop over rows and images in FP32 on one thread.",
          .launch = run};
}

}  // namespace

Variant loops_forward() {
  return loops(Op::mse_forward, forward);
}
Variant loops_backward() {
  return loops(Op::mse_backward, backward);
}

}  // namespace warpscope::ops::mse
