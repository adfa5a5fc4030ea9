// mse, variant `loops`: loops over images and rows, in FP32 whatever is stored. A row is summed by itself,
// then the rows, then the images: the loss of a large batch is one sum of millions of terms, and in three
// levels its rounding error stays that of short sums. Limits: none on the shape; one thread. Source: mse.cpp;
// pairwise summation, N. Higham, "Accuracy and Stability of Numerical Algorithms", 4.1.

#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::mse {
namespace {

template <class T>
float squared_distance(const T* y, const T* t, std::int64_t elements) {
  float sum = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    const float difference = to_float(y[i]) - to_float(t[i]);
    sum += difference * difference;
  }
  return sum;
}

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* y = call.operand<const T>(Name::prediction);
  const T* t = call.operand<const T>(Name::target);
  float* image_errors = call.operand<float>(Name::sample_losses);
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
  *call.operand<float>(Name::loss) = loss / static_cast<float>(s.batch);
}

template <class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* y = call.operand<const T>(Name::prediction);
  const T* t = call.operand<const T>(Name::target);
  T* dy = call.operand<T>(Name::gradient);
  const std::int64_t elements = s.batch * s.height * s.width * s.in_channels;
  const float loss_scale = call.operand<const step::StepControl>(Name::control)->loss_scale;
  const float scale = loss_scale * (2.0f / static_cast<float>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    dy[i] = from_float<T>(scale * (to_float(y[i]) - to_float(t[i])));
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return loops_variant(op, run, "A loop over rows and images on one thread.");
}

}  // namespace

Variant loops_forward() {
  return loops(Op::mse_forward, by_storage<forward<float>, forward<BFloat16>>);
}
Variant loops_backward() {
  return loops(Op::mse_backward, by_storage<backward<float>, backward<BFloat16>>);
}

}  // namespace warpscope::ops::mse
