// sgd.update, variant `naive`: the first rung on CUDA. One thread per parameter. The learning rate is read
// from device memory, so that one captured graph serves every step. Limits: none on the count. Bound by
// memory: 12 bytes a parameter. At most 14 registers, no shared memory, no spills. Source: sgd.h.

#include "gpu/core/cuda.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/sgd/sgd.h"
#include "gpu/ops/sgd/sgd_variants.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::sgd {
namespace {

template <class Index>
__global__ void sgd_update_naive(Index count, const float* __restrict__ gradients,
                                 const step::StepControl* __restrict__ control,
                                 float* __restrict__ parameters) {
  if (control->overflow != 0) return;
  const float rate = control->learning_rate / control->loss_scale;
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    parameters[i] -= rate * gradients[i];
  }
}

void update(const OpCall& call) {
  const std::int64_t count = call.shape.count;
  with_index(count, [&](auto index) {
    using Index = decltype(index);
    sgd_update_naive<Index><<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
        static_cast<Index>(count), call.operand<const float>(kUpdateGradients),
        call.operand<const step::StepControl>(kUpdateControl), call.operand<float>(kUpdateParameters));
  });
  core::check_launch("sgd.update naive");
}

}  // namespace

Variant naive_update() {
  return {.op = Op::sgd_update,
          .name = "naive",
          .device = core::DeviceKind::cuda,
          .precisions = {core::Precision::fp32, core::Precision::tf32, core::Precision::fp16,
                         core::Precision::bf16},
          .minimum_compute_capability = 75,
          .summary = "One thread per parameter, 4 bytes at a time.",
          .launch = update};
}

}  // namespace warpscope::ops::sgd
