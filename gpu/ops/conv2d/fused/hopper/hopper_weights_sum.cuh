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

/// dw, and db if the shape has a bias, from the partial sums of all splits.
void add_splits(const ChainCall& call, const WeightsPlan& plan, const float* partial);

}  // namespace warpscope::ops::conv2d::fused::hopper
