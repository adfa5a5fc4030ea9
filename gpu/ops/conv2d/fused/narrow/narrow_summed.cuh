#pragma once
// Sums of taps of a 3x3 kernel: what the convolution of an upsampled image multiplies one pixel with, because
// several taps meet the same pixel (chain.h). Rounded once to 16 bits, or to TF32.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::fused::narrow {

/// Taps [first, last] of three, along one side: two, one, or none if first > last.
struct TapRange {
  int first;
  int last;
};

/// The taps with which output pixel 2i - 1 + `position` of the upsampled side meets pixel i: 2, then 1 and 2,
/// then 0 and 1, then 0.
__device__ __forceinline__ TapRange taps_at(int position) {
  return {max(0, 2 - position), min(2, 3 - position)};
}

/// Chunks of 16 bytes of the taps, from `channel` on, of w (filters, 3, 3, channels). A range has at most two
/// taps: up to four reads, none of which waits for another; zeros for the others.
template <class Storage>
__device__ __forceinline__ void read_taps(uint4 (&chunks)[4], const Storage* __restrict__ w, int filter,
                                          TapRange rows, TapRange columns, int channels, int channel) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int r = rows.first + i / 2;
    const int s = columns.first + i % 2;
    chunks[i] = uint4{0, 0, 0, 0};
    if (r <= rows.last && s <= columns.last) {
      chunks[i] = *reinterpret_cast<const uint4*>(w + ((filter * 3 + r) * 3 + s) * channels + channel);
    }
  }
}

/// The sums of eight channels in four words.
template <class Math>
__device__ __forceinline__ void sum_taps(unsigned (&words)[4], const std::uint16_t* __restrict__ w,
                                         int filter, TapRange rows, TapRange columns, int channels,
                                         int channel) {
  uint4 chunks[4];
  read_taps(chunks, w, filter, rows, columns, channels, channel);
  float sums[8] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned from[4] = {chunks[i].x, chunks[i].y, chunks[i].z, chunks[i].w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      sums[2 * j] += mma::widen(Math{}, static_cast<std::uint16_t>(from[j] & 0xffffu));
      sums[2 * j + 1] += mma::widen(Math{}, static_cast<std::uint16_t>(from[j] >> 16));
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) words[j] = mma::narrow_pair(Math{}, sums[2 * j], sums[2 * j + 1]);
}

/// Those of four channels.
__device__ __forceinline__ void sum_taps(unsigned (&words)[4], const mma::Tf32::Storage* __restrict__ w,
                                         int filter, TapRange rows, TapRange columns, int channels,
                                         int channel) {
  uint4 chunks[4];
  read_taps(chunks, w, filter, rows, columns, channels, channel);
  float sums[4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned from[4] = {chunks[i].x, chunks[i].y, chunks[i].z, chunks[i].w};
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[j] += __uint_as_float(from[j]);
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) words[j] = mma::operand_word(mma::Tf32{}, __float_as_uint(sums[j]));
}

}  // namespace warpscope::ops::conv2d::fused::narrow
