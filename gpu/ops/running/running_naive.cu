// running.begin and running.end, variant `naive`: one thread a number. There are few: the launch is what it costs.
// Limits: none. Source: running.cpp.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::running {
namespace {

__global__ void running_begin_naive(std::int64_t count, const step::StepControl* __restrict__ control,
                                    float* __restrict__ running, float* __restrict__ saved) {
  const bool first = control->micro_batch == 0;
  const float* from = first ? running : saved;
  float* to = first ? saved : running;
  for (auto i = first_element<std::int64_t>(); i < count; i += element_stride<std::int64_t>())
    to[i] = from[i];
}

__global__ void running_end_naive(std::int64_t count, const float* __restrict__ sums,
                                  float* __restrict__ running) {
  for (auto i = first_element<std::int64_t>(); i < count; i += element_stride<std::int64_t>())
    running[i] = sums[i];
}

void begin(const OpCall& call) {
  run_elements(call, call.shape.count, running_begin_naive, call.shape.count, Name::control, Name::running,
               Name::saved);
}

void end(const OpCall& call) {
  run_elements(call, call.shape.count, running_end_naive, call.shape.count, Name::sums, Name::running);
}

}  // namespace

Variant naive_begin() {
  return naive_variant(Op::running_begin, begin, "One thread per number.");
}
Variant naive_end() {
  return naive_variant(Op::running_end, end, "One thread per number.");
}

}  // namespace warpscope::ops::running
