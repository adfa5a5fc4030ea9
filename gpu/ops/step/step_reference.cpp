// step.record, variant `reference`: the bookkeeping of step.h, the loss taken in either element type. The
// time is the steady clock's. Limits: none. Source: step.h.

#include <chrono>
#include <cstdint>

#include "gpu/ops/step/step.h"
#include "gpu/ops/step/step_variants.h"

namespace warpscope::ops::step {
namespace {

template <class T>
void record(const OpCall& call) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  auto* control = call.operand<StepControl>(kControl);
  auto* ring = call.operand<StepRecord>(kRing);
  ring[control->step % static_cast<std::uint64_t>(call.shape.count)] =
      record_of(*control, static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count()),
                static_cast<float>(*call.operand<const T>(kLoss)));
  *control = next_control(*control, static_cast<std::uint32_t>(call.shape.batch));
}

void launch(const OpCall& call) {
  call.precision == core::Precision::fp64 ? record<double>(call) : record<float>(call);
}

}  // namespace

Variant reference_record() {
  return {.op = Op::step_record,
          .name = "reference",
          .precisions = {core::Precision::fp32, core::Precision::fp64},
          .summary = "The bookkeeping as step.h states it: what the others are held against.",
          .launch = launch};
}

}  // namespace warpscope::ops::step
