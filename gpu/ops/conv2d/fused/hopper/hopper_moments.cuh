#pragma once
// The epilogue of the wide layers' forward before a batch norm (hopper_activations.cuh): it writes the sums of a tile
// as write_plain does, and takes mean and squares of what it writes, channel by channel, so that nobody has to read
// it for that (lane_moments.cuh).

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_activations_shape.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_epilogue.cuh"
#include "gpu/ops/conv2d/fused/hopper/lane_moments.cuh"

namespace warpscope::ops::conv2d::fused::hopper {

/// Bias, no ReLU and no pooling: a warpgroup's patches of a tile, from `first` on. `bias`: of the tile's channels,
/// which begin at `channel`.
template <bool kSmall, class Math, int kPatches, int kCount>
__device__ __forceinline__ void write_and_sum(Math, const float (&sums)[kPatches][kCount], const Layout& to,
                                              typename Math::Storage* out, const Grid& grid, int first,
                                              int parity, int channel, const float* bias, const Lane& lane,
                                              LaneMoments<kCount / 16>& all) {
  constexpr int kPixels = 2 * kPatches;
  LanePixels<typename Math::Storage, kPixels> pixels;
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    const Place patch = place_of<kSmall>(grid, first + i / 2);
    const Place at = pixel_of<kSmall>(patch, 2 * lane.warp + i % 2, lane.group);
    pixels.set(i, to.has(at.image, at.row, at.column),
               out + to.at(at.image, at.row, at.column, parity) + channel);
  }
  const Steps how(pixels.count(), all.count);
#pragma unroll
  for (int quarter = 0; quarter < kCount / 16; ++quarter) {
    float2 b[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      b[k] = *reinterpret_cast<const float2*>(bias + 8 * (4 * quarter + k) + 2 * lane.member);
    }
    unsigned words[kPixels][4];
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int element = 4 * (4 * quarter + k) + 2 * (i % 2);
        words[i][k] =
            mma::narrow_pair(Math{}, sums[i / 2][element] + b[k].x, sums[i / 2][element + 1] + b[k].y);
      }
      unsigned chunk[4] = {words[i][0], words[i][1], words[i][2], words[i][3]};
      transpose(chunk, lane.member);
      const int element = 8 * (4 * quarter + lane.member);
      if (pixels.at[i] != nullptr && channel + element < to.channels) {
        write_chunk(pixels.at[i] + element, chunk);
      }
    }
    merge_quarter(Math{}, words, pixels, how, lane, all.of[quarter]);
  }
  all.count = how.before.count;
}

}  // namespace warpscope::ops::conv2d::fused::hopper
