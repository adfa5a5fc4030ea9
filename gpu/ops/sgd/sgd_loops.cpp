// sgd.update, variant `loops`: one loop over the parameter buffer, which is FP32 in every precision. Limits: none; one thread. Source:
// sgd.h.

#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/sgd/sgd.h"
#include "gpu/ops/sgd/sgd_variants.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::sgd {
namespace {

void launch(const OpCall& call) {
  const float* gradients = call.operand<const float>(kUpdateGradients);
  float* parameters = call.operand<float>(kUpdateParameters);
  const auto& control = *call.operand<const step::StepControl>(kUpdateControl);
  if (control.overflow != 0) return;
  const float rate = control.learning_rate / control.loss_scale;
  for (std::int64_t i = 0; i < call.shape.count; ++i) parameters[i] -= rate * gradients[i];
}

}  // namespace

Variant loops_update() {
  return {.op = Op::sgd_update,
          .name = "loops",
          .precisions = loops_precisions(),
          .summary = "A loop over all parameters in FP32 on one thread.",
          .launch = launch};
}

}  // namespace warpscope::ops::sgd
