#pragma once
// Where the channels of a position lie while a kernel of layer_norm works on them: in the registers of a group of
// lanes, up to 512 channels. What forward takes of them, in an order that all kernels of groups share, so that
// statistics have the same bits whichever runs.

#include <cstdint>

#include "gpu/ops/block_sum.cuh"
#include "gpu/ops/normalization.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::layer_norm {

inline constexpr int kMostInRegisters = 512;

/// Vector k of a lane are the channels from (k * Lanes + lane) * Width on.
template <unsigned Lanes, int Vectors, int Width>
struct Group {
  static constexpr unsigned kLanes = Lanes;
  static constexpr int kVectors = Vectors;
  static constexpr int kWidth = Width;
  static constexpr unsigned kPositions = kElementThreads / Lanes;  ///< of a block
};

/// Calls f(Group{}) with the smallest that holds `channels`, which are at most kMostInRegisters.
template <int Width, class F>
void with_group(int channels, F f) {
  constexpr int kMost = kMostInRegisters / static_cast<int>(kWarpThreads) / Width;
  if (channels <= 8 * Width) return f(Group<8, 1, Width>{});
  if (channels <= 16 * Width) return f(Group<16, 1, Width>{});
  if (channels <= 32 * Width) return f(Group<32, 1, Width>{});
  f(Group<32, kMost, Width>{});
}

/// Values of a position's channels, spread over a group; 0 where there is no channel.
template <class G>
struct Row {
  float at[G::kVectors][G::kWidth];

  /// The first channel of vector k of this lane.
  static __device__ __forceinline__ int place(int k) {
    return static_cast<int>(static_cast<unsigned>(k) * G::kLanes + threadIdx.x % G::kLanes) * G::kWidth;
  }

  /// `channels` is a multiple of the width, 0 for a group that has no position.
  template <class T>
  __device__ __forceinline__ void load(const T* from, int channels) {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
      if (place(k) < channels) {
        load_floats(from + place(k), at[k]);
      } else {
#pragma unroll
        for (int i = 0; i < G::kWidth; ++i) at[k][i] = 0.0f;
      }
    }
  }

  template <class T>
  __device__ __forceinline__ void store(T* to, int channels) const {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
      if (place(k) < channels) store_floats(to + place(k), at[k]);
    }
  }
};

/// The sums of the N values over the group, in each of its lanes: the same bits in all, as both of a pair add the
/// same two numbers. Every lane of the warp must call it.
template <class G, int N>
__device__ __forceinline__ void group_sums(float (&values)[N]) {
#pragma unroll
  for (unsigned distance = G::kLanes / 2; distance > 0; distance /= 2) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
      values[n] += __shfl_xor_sync(0xffffffffu, values[n], static_cast<int>(distance));
    }
  }
}

/// Those of a position: its mean is `mean` + `rest`, which one FP32 number may be too rough for; 1 / deviation.
struct Moments {
  float mean;
  float rest;
  float factor;
};

/// The moments of K positions, of `channels` each, and their channels minus `mean`. mean_of(sum) divides by the number
/// of channels. Every lane of the warp must call it.
template <class G, int K, class MeanOf>
__device__ __forceinline__ void center(Row<G> (&rows)[K], const int (&channels)[K], MeanOf mean_of,
                                       Moments (&moments)[K]) {
  float sums[K] = {};
#pragma unroll
  for (int n = 0; n < K; ++n) {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) sums[n] += rows[n].at[k][i];
    }
  }
  group_sums<G>(sums);
  float left[2 * K] = {};  // of the mean, and squares
#pragma unroll
  for (int n = 0; n < K; ++n) {
    moments[n].mean = mean_of(sums[n]);
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
      if (Row<G>::place(k) >= channels[n]) continue;
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) {
        rows[n].at[k][i] -= moments[n].mean;
        left[2 * n] += rows[n].at[k][i];
        left[2 * n + 1] += rows[n].at[k][i] * rows[n].at[k][i];
      }
    }
  }
  group_sums<G>(left);
#pragma unroll
  for (int n = 0; n < K; ++n) {
    moments[n].rest = mean_of(left[2 * n]);
    moments[n].factor = reciprocal_deviation(mean_of(left[2 * n + 1]) - moments[n].rest * moments[n].rest);
  }
}

}  // namespace warpscope::ops::layer_norm
