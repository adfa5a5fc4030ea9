#pragma once
// What the CUDA kernels of the updates share: the settings of the rule, made once a block.

#include "gpu/ops/block_sum.cuh"
#include "gpu/ops/optimizer/rules.h"

namespace warpscope::ops::optimizer {

/// settings_of() for every thread of the block: the norm's parts are added by a tree, and one thread computes
/// what needs double precision. Every thread of the block must call it, once per kernel.
template <UpdateRule R>
__device__ __forceinline__ Settings<float> block_settings(const step::StepControl& control,
                                                          const float* norm_parts) {
  __shared__ Settings<float> shared;
  float squares[1] = {0.0f};
  if (control.clip_norm > 0.0f) {
    for (unsigned i = threadIdx.x; i < kSumParts; i += blockDim.x) squares[0] += norm_parts[i];
    block_sums(squares);
  }
  if (threadIdx.x == 0) shared = settings_of<R>(control, squares[0]);
  __syncthreads();
  return shared;
}

}  // namespace warpscope::ops::optimizer
