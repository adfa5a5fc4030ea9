// step.record and micro_batch.record, variant `naive`: the first rung on CUDA. step.record takes one block: a
// thread for each part of the statistics, whose sums a tree takes in double; the first thread does the
// bookkeeping. micro_batch.record is a few numbers and one thread. The time is %globaltimer, whose resolution
// is the device's (32 ns to 1 us). Limits: none. At most 44 registers, 768 bytes of shared memory, no spills.
// Source: step.h; block_sum.cuh; %globaltimer: "Parallel Thread Execution ISA", section 10, special
// registers.

#include "gpu/ops/block_sum.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/optimizer/shards.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::step {
namespace {

__device__ std::uint64_t global_nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// One block of kSumParts threads.
__global__ void step_record_naive(unsigned batch, std::uint64_t slots, const float* __restrict__ metrics,
                                  const float* __restrict__ statistics, StepControl* control,
                                  StepRecord* ring) {
  double sums[kStatistics];
  for (int k = 0; k < kStatistics; ++k) sums[k] = statistics[k * kSumParts + threadIdx.x];
  block_sums(sums);
  if (threadIdx.x != 0) return;
  const float rounded[kStatistics] = {static_cast<float>(sums[0]), static_cast<float>(sums[1]),
                                      static_cast<float>(sums[2])};
  const float values[kMetrics] = {metrics[0], metrics[1], metrics[2]};
  const StepControl before = *control;
  ring[before.step % slots] = record_of(before, global_nanoseconds(), values, rounded);
  *control = next_control(before, batch, values[kLossMetric]);
}

__global__ void micro_batch_record_naive(unsigned batch, int shards, const float* __restrict__ metrics,
                                         StepControl* control, float* sums) {
  const StepControl before = *control;
  const optimizer::ShardPlace place = optimizer::place_of(before, shards);
  for (int k = 0; k < kMetrics; ++k) {
    float sum = (place.first ? 0.0f : sums[k]) + metrics[k] / static_cast<float>(before.micro_batches);
    for (int slot = 1; slot <= place.waiting; ++slot) sum += sums[slot * kMetrics + k];
    sums[k] = sums[place.slot * kMetrics + k] = sum;
  }
  control->position = next_position(before, batch);
  control->micro_batch = before.micro_batch + 1;
}

void record(const OpCall& call) {
  run_kernel(call, {1, kSumParts}, step_record_naive, call.shape.batch, call.shape.count, Name::metrics,
             Name::statistics, Name::control, Name::ring);
}

void record_micro_batch(const OpCall& call) {
  run_kernel(call, {1, 1}, micro_batch_record_naive, call.shape.batch, call.shape.shards, Name::metrics,
             Name::control, Name::sums);
}

}  // namespace

Variant naive_record() {
  return naive_variant(
      Op::step_record, record,
      "One block adds up the statistics; one thread notes them, the loss and the device's clock and "
      "advances to the next batch.");
}
Variant naive_micro_batch() {
  return naive_variant(Op::micro_batch_record, record_micro_batch,
                       "One thread adds up the metrics and advances to the next micro-batch.");
}

}  // namespace warpscope::ops::step
