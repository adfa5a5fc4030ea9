#pragma once
// Sums of taps of a 3x3 kernel: what the convolution of an upsampled image multiplies one pixel with, because several taps meet
// the same pixel (block.h). Rounded once to 16 bits.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/mma.cuh"

namespace warpscope::ops::block::narrow {

/// Taps [first, last] of three, along one side.
struct TapRange {
  int first;
  int last;
};

/// The taps with which output pixel 2i - 1 + `position` of the upsampled side meets pixel i: 2, then 1 and 2, then 0
/// and 1, then 0.
__device__ __forceinline__ TapRange taps_at(int position) {
  return {max(0, 2 - position), min(2, 3 - position)};
}

/// The sums of eight channels, from `channel` on, of w (filters, 3, 3, channels), in four words.
template <class Math>
__device__ __forceinline__ void sum_taps(unsigned (&words)[4], const std::uint16_t* __restrict__ w,
                                         int filter, TapRange rows, TapRange columns, int channels,
                                         int channel) {
  float sums[8] = {};
  for (int r = rows.first; r <= rows.last; ++r) {
    for (int s = columns.first; s <= columns.last; ++s) {
      const uint4 chunk =
          *reinterpret_cast<const uint4*>(w + ((filter * 3 + r) * 3 + s) * channels + channel);
      const unsigned from[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sums[2 * i] += mma::widen(Math{}, static_cast<std::uint16_t>(from[i] & 0xffffu));
        sums[2 * i + 1] += mma::widen(Math{}, static_cast<std::uint16_t>(from[i] >> 16));
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) words[i] = mma::narrow_pair(Math{}, sums[2 * i], sums[2 * i + 1]);
}

}  // namespace warpscope::ops::block::narrow
