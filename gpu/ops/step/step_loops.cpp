// step.record, variant `loops`: the bookkeeping of step.h; the loss is FP32 in every precision. There is nothing to loop over: a
// step is one record. The time is the steady clock's. Limits: none. Source: step.h.

#include <chrono>
#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/step/step_variants.h"

namespace warpscope::ops::step {
namespace {

void launch(const OpCall& call) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  auto* control = call.operand<StepControl>(kControl);
  auto* ring = call.operand<StepRecord>(kRing);
  ring[control->step % static_cast<std::uint64_t>(call.shape.count)] =
      record_of(*control, static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count()),
                *call.operand<const float>(kLoss));
  *control = next_control(*control, static_cast<std::uint32_t>(call.shape.batch));
}

}  // namespace

Variant loops_record() {
  return {.op = Op::step_record,
          .name = "loops",
          .precisions = loops_precisions(),
          .summary = "The bookkeeping on the host, the loss in FP32.",
          .launch = launch};
}

}  // namespace warpscope::ops::step
