#pragma once
// The second kernel of hopper_backward_weights.cu: adds the splits in order, and folds an upsampled layer's parts, four
// to a tap of dw.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/core/cuda.h"
#include "gpu/ops/conv2d/fused/hopper_tiles.cuh"

namespace warpscope::ops::conv2d::fused::hopper {

/// Adds the splits, four neighbouring elements of dw to a thread, then those of the bias, one to a thread.
struct SumProblem {
  int filters;
  int channels;
  int taps;  ///< of a plane
  int splits;
  int whole_taps;  ///< the others have `rest_splits`
  int rest_splits;
  int quads;  ///< of dw
  std::int64_t split_elements;
  std::int64_t bias_at;
  bool aligned;  ///< dw, to 16 bytes
};

inline constexpr int kSumThreads = 128;

__device__ __forceinline__ void add_quads(float4& sum, const SumProblem& q, int splits, const float* from) {
#pragma unroll 8
  for (int split = 0; split < splits; ++split) {
    const float4 part = *reinterpret_cast<const float4*>(from + split * q.split_elements);
    sum.x += part.x;
    sum.y += part.y;
    sum.z += part.z;
    sum.w += part.w;
  }
}

/// Where tap r (or s) of three lies among the two of a parity.
__device__ __forceinline__ int folded_tap(int parity, int r) {
  return r > parity ? 1 : 0;
}

template <int kTaps>
__device__ __forceinline__ float4 sum_quad(const SumProblem& q, const float* partial, int quad) {
  float4 sum{0.0f, 0.0f, 0.0f, 0.0f};
  if constexpr (kTaps == 3) {
    const bool whole = q.whole_taps == q.taps || 4 * quad / q.channels % q.taps < q.whole_taps;
    add_quads(sum, q, whole ? q.splits : q.rest_splits, partial + 4 * quad);
  } else {
    const int channel = 4 * quad % q.channels;
    const int line = 4 * quad / q.channels;
    const int filter = line / 9;
    const int r = line % 9 / 3;
    const int s = line % 3;
    for (int plane = 0; plane < 4; ++plane) {
      const int tap = folded_tap(plane >> 1, r) * 2 + folded_tap(plane & 1, s);
      add_quads(sum, q, q.splits,
                partial + ((static_cast<std::int64_t>(plane) * q.filters + filter) * 4 + tap) * q.channels +
                    channel);
    }
  }
  return sum;
}

template <int kTaps>
__global__ void __launch_bounds__(kSumThreads)
    hopper_weights_sum(const __grid_constant__ SumProblem q, const float* __restrict__ partial,
                       float* __restrict__ dw, float* __restrict__ db) {
  const int i = static_cast<int>(blockIdx.x * kSumThreads + threadIdx.x);
  if (i < q.quads) {
    const float4 sum = sum_quad<kTaps>(q, partial, i);
    float* to = dw + 4 * i;
    if (q.aligned) {
      *reinterpret_cast<float4*>(to) = sum;
    } else {
      to[0] = sum.x;
      to[1] = sum.y;
      to[2] = sum.z;
      to[3] = sum.w;
    }
  } else if (i < q.quads + q.filters) {
    constexpr int kPlanes = kTaps == 3 ? 1 : 4;
    const float* from = partial + q.bias_at + (i - q.quads);
    float sum = 0.0f;
    for (int plane = 0; plane < kPlanes; ++plane) {
#pragma unroll 8
      for (int split = 0; split < q.splits; ++split)
        sum += from[plane * q.filters + split * q.split_elements];
    }
    db[i - q.quads] = sum;
  }
}

template <int kTaps>
void add_splits(const SumProblem& q, const float* partial, float* dw, float* db, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(divide_up(q.quads + q.filters, kSumThreads));
  hopper_weights_sum<kTaps><<<blocks, kSumThreads, 0, stream>>>(q, partial, dw, db);
  core::check_launch("conv2d.backward_weights hopper, sum of the splits");
}

}  // namespace warpscope::ops::conv2d::fused::hopper
