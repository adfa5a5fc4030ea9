#pragma once
// What is added to the sums of a patch before they are written (hopper_activations.cuh): the elements of another
// tensor, laid out as the result. While the products run, the tensor's lines come into the L2 cache; then a lane reads
// the elements that it writes afterwards, 16 bytes at a time, and the four members exchange words as in
// hopper_epilogue.cuh, so that they are added in FP32. Sums that began with these elements would need no reads at the
// end, but ptxas (CUDA 13.0) then lets no two products run at once.

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_epilogue.cuh"

namespace warpscope::ops::conv2d::fused::hopper {

/// The two elements of a word.
__device__ __forceinline__ float2 widen_pair(mma::Fp16, unsigned word) {
  return __half22float2(reinterpret_cast<const __half2&>(word));
}
__device__ __forceinline__ float2 widen_pair(mma::Bf16, unsigned word) {
  return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u)};
}

/// A warpgroup: prefetches the cache lines of `addend` at the places of a patch's result: a tile's channels, from
/// `channel` on.
template <bool kSmall, int kColumnCount, class Storage>
__device__ __forceinline__ void prefetch_addend(const Layout& from, const Storage* addend, const Place& patch,
                                                int channel, int thread) {
  constexpr int kLineElements = 128 / static_cast<int>(sizeof(Storage));
  constexpr int kLines = kColumnCount / kLineElements;  // of a pixel
  static_assert(kLines * kLineElements == kColumnCount);
#pragma unroll
  for (int i = thread; i < kPatchPixels * kLines; i += static_cast<int>(kWarpgroup)) {
    const int pixel = i / kLines;
    const int first = channel + i % kLines * kLineElements;
    const Place at = pixel_of<kSmall>(patch, pixel / kPatchSide, pixel % kPatchSide);
    if (from.has(at.image, at.row, at.column) && first < from.channels) {
      prefetch_line(addend + from.at(at.image, at.row, at.column, 0) + first);
    }
  }
}

/// write_masked() of the sums and the elements of `addend` at their places. Two chunks of these are read at once: more
/// would take too many registers.
template <bool kSmall, class Math, int kCount>
__device__ __forceinline__ void write_summed(Math, const float (&sums)[kCount], const Layout& to,
                                             const typename Math::Storage* addend,
                                             typename Math::Storage* out, const Place& patch, int channel,
                                             const unsigned char* mask, const Lane& lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = 2 * lane.warp + half;
    const Place at = pixel_of<kSmall>(patch, row, lane.group);
    const int first = channel + 8 * lane.member;
    const int room = to.has(at.image, at.row, at.column) ? to.channels - first : 0;
    const std::int64_t place = to.at(at.image, at.row, at.column, 0) + first;
    unsigned quarters[kCount / 16];
    read_bits(mask, row * kPatchSide + lane.group, quarters);
#pragma unroll
    for (int pair = 0; pair < kCount / 32; ++pair) {
      unsigned chunks[2][4] = {};
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int ahead = 32 * (2 * pair + k);
        if (ahead < room) read_chunk(chunks[k], addend + place + ahead);
      }
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int quarter = 2 * pair + k;
        unsigned(&w)[4] = chunks[k];
        transpose(w, lane.member);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int j = 4 * quarter + i;
          const float2 more = widen_pair(Math{}, w[i]);
          w[i] =
              mma::narrow_pair(Math{}, sums[4 * j + 2 * half] + more.x, sums[4 * j + 2 * half + 1] + more.y);
        }
        transpose(w, lane.member);
        const unsigned mine = quarters[quarter] >> (8 * lane.member);
#pragma unroll
        for (int i = 0; i < 4; ++i) w[i] &= keep_pair(mine >> (2 * i));
        if (32 * quarter < room) write_chunk(out + place + 32 * quarter, w);
      }
    }
  }
}

/// In FP32 a lane reads its own 8 bytes of every eight channels.
template <bool kSmall, int kCount>
__device__ __forceinline__ void write_summed(mma::Tf32, const float (&sums)[kCount], const Layout& to,
                                             const std::uint32_t* addend, std::uint32_t* out,
                                             const Place& patch, int channel, const unsigned char* mask,
                                             const Lane& lane) {
  constexpr int kTogether = 8;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = 2 * lane.warp + half;
    const Place at = pixel_of<kSmall>(patch, row, lane.group);
    if (!to.has(at.image, at.row, at.column)) continue;
    const std::int64_t place = to.at(at.image, at.row, at.column, 0) + channel + 2 * lane.member;
    unsigned quarters[kCount / 16];
    read_bits(mask, row * kPatchSide + lane.group, quarters);
#pragma unroll
    for (int first = 0; first < kCount / 4; first += kTogether) {
      float2 more[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        more[k] = channel + 8 * (first + k) < to.channels
                      ? __ldg(reinterpret_cast<const float2*>(addend + place + 8 * (first + k)))
                      : float2{0.0f, 0.0f};
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int j = first + k;
        const unsigned pair = quarters[j / 4] >> (8 * (j % 4) + 2 * lane.member);
        if (channel + 8 * j < to.channels) {
          write_floats(out + place + 8 * j, (pair & 1) != 0 ? sums[4 * j + 2 * half] + more[k].x : 0.0f,
                       (pair & 2) != 0 ? sums[4 * j + 2 * half + 1] + more[k].y : 0.0f);
        }
      }
    }
  }
}

}  // namespace warpscope::ops::conv2d::fused::hopper
