#pragma once
// The sum over ranks in its one order, that of ranks::sum_over_ranks(), of four values of each.

#include <cuda_runtime.h>

namespace warpscope::ops::allreduce {

/// The tree over the first `size` of each rank's values: pairs first, then their sums in the same way.
template <int kMost>
__device__ float4 tree_sum(float4 (&values)[kMost], int size) {
#pragma unroll
  for (int step = 1; step < kMost; step *= 2) {
#pragma unroll
    for (int i = 0; i + step < kMost; i += 2 * step) {
      if (i + step >= size) continue;
      float4& sum = values[i];
      const float4& more = values[i + step];
      sum = {__fadd_rn(sum.x, more.x), __fadd_rn(sum.y, more.y), __fadd_rn(sum.z, more.z),
             __fadd_rn(sum.w, more.w)};
    }
  }
  return values[0];
}

}  // namespace warpscope::ops::allreduce
