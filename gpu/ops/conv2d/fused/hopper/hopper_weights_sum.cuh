#pragma once
// The partial sums of conv2d.backward_weights `hopper`: where the product kernels write them, and the kernel that adds
// those of all splits in a fixed order, folds an upsampled layer's parts, four to a tap of dw, and brings them into the
// order of dw.
//
// A split's partial sums are blocks, of 64 filters and 64 channels of one tap, as (plane, filters, tap, channels). A
// block lies as the threads of a warpgroup hold it (hopper_ptx.cuh): thread i's sums d[4 j] to d[4 j + 3] are its
// quad 128 j + i, so that a warp writes and reads 512 bytes in one piece. Behind the blocks lie the sums of dy, as
// (plane, filter).

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_weights_plan.h"

namespace warpscope::ops::conv2d::fused::hopper {

inline constexpr int kBlockElements = kSlice * kSlice;
inline constexpr int kBlockQuads = kBlockElements / 4;
inline constexpr int kBlockSums = kSlice / 2;  ///< of a thread

/// A thread's part of a block: its sums from `first` on.
template <int kSums>
__device__ __forceinline__ void write_block(float* partial, std::int64_t block, const float (&sums)[kSums],
                                            int first, int thread) {
  auto* to = reinterpret_cast<float4*>(partial + block * kBlockElements) + thread;
#pragma unroll
  for (int j = 0; j < kBlockSums / 4; ++j) {
    const int d = first + 4 * j;
    to[j * static_cast<int>(kWarpgroup)] = float4{sums[d], sums[d + 1], sums[d + 2], sums[d + 3]};
  }
}

inline constexpr int kSumBatch = 4;  ///< quads that a thread reads at once

__device__ __forceinline__ void add_quad(float4& sum, const float4& part) {
  sum.x += part.x;
  sum.y += part.y;
  sum.z += part.z;
  sum.w += part.w;
}

/// Adds kSplits splits, which are read at once, from `split` on.
template <int kPlanes, int kSplits>
__device__ __forceinline__ void add_batch(float4& sum, const float* const (&planes)[kPlanes],
                                          std::int64_t split_elements, int split) {
  float4 read[kSplits * kPlanes];
#pragma unroll
  for (int i = 0; i < kSplits * kPlanes; ++i) {
    read[i] = *reinterpret_cast<const float4*>(planes[i % kPlanes] + (split + i / kPlanes) * split_elements);
  }
#pragma unroll
  for (int i = 0; i < kSplits * kPlanes; ++i) add_quad(sum, read[i]);
}

/// The sum of the splits from `split` to before `end`, which lie `split_elements` apart.
template <int kPlanes>
__device__ __forceinline__ float4 add_range(const float* const (&planes)[kPlanes],
                                            std::int64_t split_elements, int split, int end) {
  constexpr int kSplits = kSumBatch / kPlanes;
  static_assert(kSplits == 4 || kSplits == 1, "what is left is below 4, or nothing");
  float4 sum{0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
  for (; split + kSplits <= end; split += kSplits)
    add_batch<kPlanes, kSplits>(sum, planes, split_elements, split);
  if constexpr (kSplits == 4) {
    if (split + 2 <= end) {
      add_batch<kPlanes, 2>(sum, planes, split_elements, split);
      split += 2;
    }
    if (split < end) add_batch<kPlanes, 1>(sum, planes, split_elements, split);
  }
  return sum;
}

/// dw, and db if the shape has a bias, from the partial sums of all splits.
void add_splits(const ChainCall& call, const WeightsPlan& plan, const float* partial);

}  // namespace warpscope::ops::conv2d::fused::hopper
