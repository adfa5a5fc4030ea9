#pragma once
// implicit_gemm for results of at most four channels (the last layer of an autoencoder), where a square tile
// would spend most of its products on columns that do not exist.
//
// A warp makes 16 neighbouring pixels. Its threads share the sum, not the result: each takes every 32nd group
// of channels, keeps the weights of that group for one tap in registers, and multiplies them with the 16
// pixels, which it reads straight from the L1 cache, coalesced, without shared memory. The threads' sums are
// added at the end through shuffles, in a fixed order. Bound by the L1 cache: 16 bytes read for 4 to 16
// products. 61 to 128 registers, no spills.

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/implicit_gemm_loaders.cuh"

namespace warpscope::ops::conv2d {

inline constexpr int kNarrowFilters = 4;
inline constexpr int kNarrowPixels = 16;
inline constexpr int kNarrowBlockPixels = kNarrowPixels * kGemmWarps;

template <int kVector>
struct Channels {
  float value[kVector];
  __device__ __forceinline__ void read(const float* from) {
    if constexpr (kVector == 4) {
      const float4 four = *reinterpret_cast<const float4*>(from);
      value[0] = four.x;
      value[1] = four.y;
      value[2] = four.z;
      value[3] = four.w;
    } else {
      value[0] = *from;
    }
  }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j < kVector; ++j) value[j] = 0.0f;
  }
};

/// One round of sum_over_warp: of 2 * kHalf values a thread gives half to its partner, keeps the other half
/// and adds what the partner gives. A recursion, so that every index is known to the compiler and the values
/// stay in registers.
template <int kHalf>
__device__ __forceinline__ void exchange_halves(float (&value)[kNarrowPixels]) {
  constexpr int partner = 2 * kHalf;
  const bool upper = (static_cast<int>(threadIdx.x) & partner) != 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const float give = upper ? value[i] : value[i + kHalf];
    const float keep = upper ? value[i + kHalf] : value[i];
    value[i] = keep + __shfl_xor_sync(0xffffffffu, give, partner);
  }
  if constexpr (kHalf > 1) exchange_halves<kHalf / 2>(value);
}

/// Adds each of 16 values over the 32 threads of a warp; returns the sum of value i to threads 2i and 2i + 1.
__device__ __forceinline__ float sum_over_warp(float (&value)[kNarrowPixels]) {
  exchange_halves<kNarrowPixels / 2>(value);
  return value[0] + __shfl_xor_sync(0xffffffffu, value[0], 1);
}

/// `weights` are (filters, kernel_height, kernel_width, channels). Channels are a multiple of kVector.
template <int kFilters, int kVector>
__global__ void __launch_bounds__(kGemmThreads, 2)
    implicit_gemm_narrow(const Taps taps, const float* __restrict__ in, const float* __restrict__ weights,
                         float* __restrict__ out) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first = (static_cast<int>(blockIdx.x) * kGemmWarps + warp) * kNarrowPixels;
  if (first >= taps.pixels) return;
  // Thread i, and i + 16, watch over the borders for pixel i.
  const PixelPlace place(taps, first + lane % kNarrowPixels);
  const int per_filter = taps.kernel_height * taps.kernel_width * taps.channels;
  float sum[kFilters][kNarrowPixels] = {};
  for (int block = 0; block < taps.channels; block += 32 * kVector) {
    const int channel = block + lane * kVector;
    const bool mine = channel < taps.channels;
    const float* weight = weights + channel;
    for (int r = 0; r < taps.kernel_height; ++r) {
      for (int s = 0; s < taps.kernel_width; ++s, weight += taps.channels) {
        const unsigned inside = __ballot_sync(0xffffffffu, taps.inside(place.row, place.column, r, s));
        Channels<kVector> w[kFilters];
#pragma unroll
        for (int f = 0; f < kFilters; ++f) {
          w[f].clear();
          if (mine) w[f].read(weight + f * per_filter);
        }
        // Unsigned: it may run past either end of the tensor, where nothing is read.
        const unsigned from = static_cast<unsigned>(first + taps.shift(r, s)) * taps.channels + channel;
#pragma unroll
        for (int i = 0; i < kNarrowPixels; ++i) {
          Channels<kVector> x;
          x.clear();
          if (mine && (inside >> i & 1u) != 0) x.read(in + (from + i * static_cast<unsigned>(taps.channels)));
#pragma unroll
          for (int f = 0; f < kFilters; ++f) {
#pragma unroll
            for (int j = 0; j < kVector; ++j) sum[f][i] += x.value[j] * w[f].value[j];
          }
        }
      }
    }
  }
  const int pixel = first + lane / 2;
#pragma unroll
  for (int f = 0; f < kFilters; ++f) {
    const float total = sum_over_warp(sum[f]);
    if (lane % 2 == 0 && pixel < taps.pixels) out[pixel * kFilters + f] = total;
  }
}

}  // namespace warpscope::ops::conv2d
