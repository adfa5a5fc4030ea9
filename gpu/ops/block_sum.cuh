#pragma once
// Sums over the threads of a block in an order that only the block's size fixes, so that they have the same
// bits every time. Source: M. Harris, "Optimizing parallel reduction in CUDA" (2007); the exchange within a
// warp: "CUDA C++ Programming Guide", warp shuffle functions.

#include <cuda_runtime.h>

namespace warpscope::ops {

inline constexpr unsigned kWarpThreads = 32;
inline constexpr unsigned kMostWarps = 32;  // of a block

/// The sums of the N `values` over all threads of a warp, in each of them. Every thread of the warp must call
/// it.
template <int N, class T>
__device__ __forceinline__ void warp_sums(T (&values)[N]) {
#pragma unroll
  for (unsigned lanes = kWarpThreads / 2; lanes > 0; lanes /= 2) {
#pragma unroll
    for (int k = 0; k < N; ++k) values[k] += __shfl_xor_sync(0xffffffffu, values[k], static_cast<int>(lanes));
  }
}

/// The sums of the N `values` over all threads of a block, in each of them. Every thread of the block must
/// call it; blocks are of whole warps. It may be called again.
template <int N, class T>
__device__ __forceinline__ void block_sums(T (&values)[N]) {
  __shared__ T partial[N][kMostWarps];
  const unsigned lane = threadIdx.x % kWarpThreads;
  const unsigned warps = blockDim.x / kWarpThreads;
  warp_sums(values);
  __syncthreads();  // an earlier call may still be reading
  if (lane == 0) {
#pragma unroll
    for (int k = 0; k < N; ++k) partial[k][threadIdx.x / kWarpThreads] = values[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; ++k) values[k] = lane < warps ? partial[k][lane] : T{0};
  warp_sums(values);
}

}  // namespace warpscope::ops
