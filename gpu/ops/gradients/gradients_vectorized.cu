// gradients.check, variant `vectorized`: each thread reads its share of the gradients 16 bytes at a time, a
// block votes, and one thread of each block that found one that is not finite sets the flag. Blocks that set
// it at once store the same value to the same place, so the result does not depend on their order; with no
// atomics and nothing to clear first, it costs one pass over the gradients. Limits: none on the count. Bound
// by memory: 4 bytes a parameter. At most 20 registers, no shared memory of its own, no spills. Source:
// gradients.h; __syncthreads_or: "CUDA C++ Programming Guide", synchronization functions.

#include "gpu/core/cuda.h"
#include "gpu/ops/gradients/gradients.h"
#include "gpu/ops/gradients/gradients_variants.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::gradients {
namespace {

constexpr int kWidth = kWide<float>;
// Blocks that take several vectors a thread vote less often; this many still fill any GPU.
constexpr unsigned kMostBlocks = 2048;

template <class Index>
__global__ void gradients_check_vectorized(Index vectors, Index count, const float* __restrict__ gradients,
                                           step::StepControl* __restrict__ control) {
  bool finite = true;
  for_each_vector<kWidth>(vectors, count, [&](Index i, auto width) {
    float values[decltype(width)::value];
    load_floats(gradients + i, values);
    for (const float value : values) finite = finite && isfinite(value);
  });
  const bool overflowed = __syncthreads_or(!finite) != 0;
  if (overflowed && threadIdx.x == 0) control->overflow = 1;
}

void check(const OpCall& call) {
  const std::int64_t count = call.shape.count;
  const float* gradients = call.operand<const float>(kCheckGradients);
  const VectorCover covered = cover(count, kWidth, aligned_16(gradients));
  with_index(count, [&](auto index) {
    using Index = decltype(index);
    gradients_check_vectorized<Index>
        <<<std::min(covered.blocks, kMostBlocks), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
            static_cast<Index>(covered.vectors), static_cast<Index>(count), gradients,
            call.operand<step::StepControl>(kCheckControl));
  });
  core::check_launch("gradients.check vectorized");
}

}  // namespace

Variant vectorized_check() {
  return {.op = Op::gradients_check,
          .name = "vectorized",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .summary = "16 bytes at a time; a block votes, and one plain store tells what it found.",
          .launch = check};
}

}  // namespace warpscope::ops::gradients
