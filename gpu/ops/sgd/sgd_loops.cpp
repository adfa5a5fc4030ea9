// sgd.update, variant `loops`: one loop over the parameter buffer in FP32. Limits: none; one thread. Source:
// sgd.h.

#include <cstdint>

#include "gpu/ops/sgd/sgd.h"
#include "gpu/ops/sgd/sgd_variants.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::sgd {
namespace {

void launch(const OpCall& call) {
  const float* gradients = call.operand<const float>(kUpdateGradients);
  float* parameters = call.operand<float>(kUpdateParameters);
  const float learning_rate = call.operand<const step::StepControl>(kUpdateControl)->learning_rate;
  for (std::int64_t i = 0; i < call.shape.count; ++i) parameters[i] -= learning_rate * gradients[i];
}

}  // namespace

Variant loops_update() {
  return {.op = Op::sgd_update,
          .name = "loops",
          .precisions = {core::Precision::fp32},
          .summary = "A loop over all parameters in FP32 on one thread.",
          .launch = launch};
}

}  // namespace warpscope::ops::sgd
