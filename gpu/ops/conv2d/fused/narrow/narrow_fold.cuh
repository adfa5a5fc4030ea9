#pragma once
// What the backward_weights kernels for few output channels do at their end, in all precisions: from a
// block's sums to its partial results (narrow_sum.h), the gradients of the weights and after these that of
// the bias.

#include "gpu/ops/conv2d/fused/narrow/narrow_patch.cuh"

namespace warpscope::ops::conv2d::fused::narrow {

/// Writes dw as (o, r, s, c), folded from the sums of the 4x4 outputs around a pixel's 2x2 in `shared`, rows
/// (output, o) of kStride channels. A thread has one channel.
template <int kNarrow, int kStride>
__device__ __forceinline__ void fold_sums(const float* shared, const Tiles& tiles,
                                          float* __restrict__ partial) {
  const int first = static_cast<int>(blockIdx.y) * kSlabChannels;
  const int column = static_cast<int>(threadIdx.x);
  if (first + column >= tiles.channels) return;
  for (int filter = 0; filter < kNarrow; ++filter) {
    for (int tap = 0; tap < 9; ++tap) {
      // Tap r meets the pixel from positions 2 - r and 3 - r of the four, tap s alike.
      const int position = (2 - tap / 3) * 4 + 2 - tap % 3;
      const float* from = shared + (position * kNarrow + filter) * kStride + column;
      constexpr int kRight = kNarrow * kStride;
      constexpr int kDown = 4 * kRight;
      partial[(filter * 9 + tap) * tiles.channels + first + column] =
          (from[0] + from[kRight]) + (from[kDown] + from[kDown + kRight]);
    }
  }
}

/// Adds the threads' sums of dy, within warps by shuffles, and writes the bias gradient.
template <int kNarrow, int kThreads>
__device__ __forceinline__ void write_bias(const float (&bias)[kNarrow], float* __restrict__ shared, int warp,
                                           int lane, float* __restrict__ partial) {
#pragma unroll
  for (int o = 0; o < kNarrow; ++o) {
    float sum = bias[o];
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    if (lane == 0) shared[warp * kNarrow + o] = sum;
  }
  __syncthreads();
  const int o = static_cast<int>(threadIdx.x);
  if (o >= kNarrow) return;
  float sum = shared[o];
  for (int other = 1; other < kThreads / 32; ++other) sum += shared[other * kNarrow + o];
  partial[o] = sum;
}

}  // namespace warpscope::ops::conv2d::fused::narrow
