// step.record, variant `naive`: one thread does the bookkeeping of a step; there is nothing to do in
// parallel. The time is %globaltimer, whose resolution is the device's (32 ns to 1 us). Limits: none. 24
// registers. Source: step.h; %globaltimer: "Parallel Thread Execution ISA", section 10, special registers.

#include "gpu/core/cuda.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/step/step_variants.h"

namespace warpscope::ops::step {
namespace {

__device__ std::uint64_t global_nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void step_record_naive(unsigned batch, std::uint64_t slots, const float* loss,
                                  StepControl* control, StepRecord* ring) {
  const StepControl before = *control;
  ring[before.step % slots] = record_of(before, global_nanoseconds(), *loss);
  *control = next_control(before, batch);
}

void record(const OpCall& call) {
  step_record_naive<<<1, 1, 0, core::cuda_stream(*call.stream)>>>(
      static_cast<unsigned>(call.shape.batch), static_cast<std::uint64_t>(call.shape.count),
      call.operand<const float>(kLoss), call.operand<StepControl>(kControl), call.operand<StepRecord>(kRing));
  core::check_launch("step.record naive");
}

}  // namespace

Variant naive_record() {
  return {.op = Op::step_record,
          .name = "naive",
          .device = core::DeviceKind::cuda,
          .precisions = {core::Precision::fp32, core::Precision::tf32, core::Precision::fp16,
                         core::Precision::bf16},
          .minimum_compute_capability = 75,
          .summary = "One thread notes the loss and the device's clock and advances to the next batch.",
          .launch = record};
}

}  // namespace warpscope::ops::step
