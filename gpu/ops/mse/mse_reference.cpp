// mse, variant `reference`: the formulas of mse.cpp, summed in double whatever the element type.
// Limits: none. Source: mse.cpp.

#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::mse {
namespace {

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* y = call.operand<const T>(Name::prediction);
  const T* t = call.operand<const T>(Name::target);
  T* image_errors = call.operand<T>(Name::sample_losses);
  const std::int64_t image_size = std::int64_t{s.height} * s.width * s.in_channels;
  double loss = 0;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    double sum = 0;
    for (std::int64_t i = n * image_size; i < (n + 1) * image_size; ++i) {
      const double difference = double{y[i]} - double{t[i]};
      sum += difference * difference;
    }
    const double error = sum / static_cast<double>(image_size);
    image_errors[n] = static_cast<T>(error);
    loss += error;
  }
  *call.operand<T>(Name::loss) = static_cast<T>(loss / static_cast<double>(s.batch));
}

template <class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* y = call.operand<const T>(Name::prediction);
  const T* t = call.operand<const T>(Name::target);
  const double scale = call.operand<const step::StepControl>(Name::control)->loss_scale;
  T* dy = call.operand<T>(Name::gradient);
  const std::int64_t elements = s.batch * s.height * s.width * s.in_channels;
  for (std::int64_t i = 0; i < elements; ++i) {
    dy[i] = static_cast<T>(scale * 2 * (double{y[i]} - double{t[i]}) / static_cast<double>(elements));
  }
}

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::mse_forward, in_either_width<forward<float>, forward<double>>);
}
Variant reference_backward() {
  return reference_variant(Op::mse_backward, in_either_width<backward<float>, backward<double>>);
}

}  // namespace warpscope::ops::mse
