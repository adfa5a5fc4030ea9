// sgd.update, variant `vectorized`: over `naive` it adds 16-byte accesses, four parameters a thread. Limits:
// none on the count; what is left over after the last whole vector, and memory that is not aligned to 16
// bytes, goes element by element. Bound by memory: 12 bytes a parameter. At most 26 registers, no shared
// memory, no spills. Source: sgd.h; vectorized.cuh.

#include "gpu/core/cuda.h"
#include "gpu/ops/sgd/sgd.h"
#include "gpu/ops/sgd/sgd_variants.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::sgd {
namespace {

constexpr int kWidth = kWide<float>;

template <class Index>
__global__ void sgd_update_vectorized(Index vectors, Index count, const float* __restrict__ gradients,
                                      const step::StepControl* __restrict__ control,
                                      float* __restrict__ parameters) {
  if (control->overflow != 0) return;
  const float rate = control->learning_rate / control->loss_scale;
  for_each_vector<kWidth>(vectors, count, [=](Index i, auto width) {
    constexpr int kElements = decltype(width)::value;
    float gradient[kElements];
    float parameter[kElements];
    load_floats(gradients + i, gradient);
    load_floats(parameters + i, parameter);
    for (int k = 0; k < kElements; ++k) parameter[k] -= rate * gradient[k];
    store_floats(parameters + i, parameter);
  });
}

void update(const OpCall& call) {
  const std::int64_t count = call.shape.count;
  const float* gradients = call.operand<const float>(kUpdateGradients);
  float* parameters = call.operand<float>(kUpdateParameters);
  const VectorCover covered = cover(count, kWidth, aligned_16(gradients, parameters));
  with_index(count, [&](auto index) {
    using Index = decltype(index);
    sgd_update_vectorized<Index><<<covered.blocks, kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
        static_cast<Index>(covered.vectors), static_cast<Index>(count), gradients,
        call.operand<const step::StepControl>(kUpdateControl), parameters);
  });
  core::check_launch("sgd.update vectorized");
}

}  // namespace

Variant vectorized_update() {
  return {.op = Op::sgd_update,
          .name = "vectorized",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .summary = "16 bytes at a time: four parameters a thread.",
          .launch = update};
}

}  // namespace warpscope::ops::sgd
