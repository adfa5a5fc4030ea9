// step.record, variant `loops`: the bookkeeping of step.h for FP32 plans. There is nothing to loop over: a
// step is one record. The time is the steady clock's. Limits: none. Source: step.h.

#include <chrono>
#include <cstdint>

#include "gpu/ops/step/step.h"
#include "gpu/ops/step/step_variants.h"

namespace warpscope::ops::step {
namespace {

void launch(const OpCall& call) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  auto* control = call.operand<StepControl>(kControl);
  auto* ring = call.operand<StepRecord>(kRing);
  ring[control->step % static_cast<std::uint64_t>(call.shape.count)] = {
      .step = control->step,
      .nanoseconds = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count()),
      .loss = *call.operand<const float>(kLoss),
      .learning_rate = control->learning_rate};
  ++control->step;
  control->position += static_cast<std::uint32_t>(call.shape.batch);
  if (control->position >= control->epoch_size) control->position -= control->epoch_size;
}

}  // namespace

Variant loops_record() {
  return {.op = Op::step_record,
          .name = "loops",
          .precisions = {core::Precision::fp32},
          .summary = "The bookkeeping on the host, the loss in FP32.",
          .launch = launch};
}

}  // namespace warpscope::ops::step
