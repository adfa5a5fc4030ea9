// sgd.update, variant `reference`: the formula of sgd.h, computed in double. Limits: none. Source: sgd.h.

#include <cstdint>

#include "gpu/ops/sgd/sgd.h"
#include "gpu/ops/sgd/sgd_variants.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::sgd {
namespace {

template <class T>
void update(const OpCall& call) {
  const T* gradients = call.operand<const T>(kUpdateGradients);
  T* parameters = call.operand<T>(kUpdateParameters);
  const auto& control = *call.operand<const step::StepControl>(kUpdateControl);
  if (control.overflow != 0) return;
  const double learning_rate = control.learning_rate;
  const double loss_scale = control.loss_scale;
  for (std::int64_t i = 0; i < call.shape.count; ++i) {
    parameters[i] =
        static_cast<T>(double{parameters[i]} - learning_rate * (double{gradients[i]} / loss_scale));
  }
}

void launch(const OpCall& call) {
  call.precision == core::Precision::fp64 ? update<double>(call) : update<float>(call);
}

}  // namespace

Variant reference_update() {
  return {.op = Op::sgd_update,
          .name = "reference",
          .precisions = {core::Precision::fp32, core::Precision::fp64},
          .summary = "The formula element by element in double: what the others are held against.",
          .launch = launch};
}

}  // namespace warpscope::ops::sgd
