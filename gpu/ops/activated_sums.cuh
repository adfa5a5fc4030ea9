#pragma once
// An activation behind a sum that a thread has in registers.

#include <cuda_runtime.h>

#include "gpu/ops/activation.h"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops {

/// The values after `activation`: of one whose derivative reads its input, from that as T stores it.
template <class T, int V>
__device__ __forceinline__ void activate_sums(float (&values)[V], Activation activation) {
  with_activation(activation, [&]<class A>(A) {
#pragma unroll
    for (float& value : values) value = A::value(A::kReadsInput ? to_float(from_float<T>(value)) : value);
  });
}

}  // namespace warpscope::ops
