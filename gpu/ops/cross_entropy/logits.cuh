#pragma once
// What the `warp_shuffle` variants work with: an image's logits in the registers of a group of
// lanes, and the last block of a launch, which adds what all have left. Source: J. Luitjens, "Faster parallel
// reductions on Kepler" (2014); the last block: "CUDA C++ Programming Guide", memory fence functions.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gpu/ops/block_sum.cuh"
#include "gpu/ops/cross_entropy/labels.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::cross_entropy {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kMostClasses = 256;
inline constexpr std::int64_t kMostBlocks = 1024;  // enough to fill the largest GPUs

/// How the logits of an image lie in the registers of a group of lanes: logit k * Lanes + lane in value k of
/// a lane.
template <unsigned Lanes, int Values>
struct Group {
  static constexpr unsigned kLanes = Lanes;
  static constexpr int kValues = Values;
  static constexpr unsigned kImages = kElementThreads / Lanes;  ///< of a block
};

/// Calls f(Group{}) with the smallest that holds `classes` logits.
template <class F>
void with_group(int classes, F f) {
  if (classes <= 8) return f(Group<8, 1>{});
  if (classes <= 16) return f(Group<16, 1>{});
  if (classes <= 32) return f(Group<32, 1>{});
  if (classes <= 64) return f(Group<32, 2>{});
  return f(Group<32, kMostClasses / 32>{});
}

/// An image's logits, spread over its group.
template <class G>
struct Logits {
  float at[G::kValues];
  float peak;
  int best;  ///< the place of the first of the largest

  /// Every lane of the warp must call it; `classes` is 0 for a group that has no image.
  template <class T>
  __device__ Logits(const T* z, int classes) : peak(-INFINITY), best(kMostClasses) {
    for (int k = 0; k < G::kValues; ++k) {
      const int c = place(k);
      at[k] = c < classes ? to_float(z[c]) : -INFINITY;
      take(at[k], c);
    }
    for (unsigned distance = G::kLanes / 2; distance > 0; distance /= 2) {
      const float other = __shfl_xor_sync(kAllLanes, peak, distance);
      const int other_place = __shfl_xor_sync(kAllLanes, best, distance);
      take(other, other_place);
    }
  }

  static __device__ int place(int k) {
    return static_cast<int>(static_cast<unsigned>(k) * G::kLanes + threadIdx.x % G::kLanes);
  }

  /// The sum over the group of exp(z[c] - peak) of all c other than those of `without`. Every lane of the warp must
  /// call it.
  template <int N>
  __device__ float sum_of_others(const Labels<N>& without) const {
    float sum = 0.0f;
    for (int k = 0; k < G::kValues; ++k) {
      if (!without.has(place(k))) sum += expf(at[k] - peak);
    }
    return group_sum(sum);
  }

  /// exp(z[c] - peak). Every lane of the warp must call it.
  __device__ float exponential(int c) const {
    float mine = 0.0f;
    for (int k = 0; k < G::kValues; ++k) {
      if (place(k) == c) mine = expf(at[k] - peak);
    }
    return group_sum(mine);
  }

  /// Whether a logit of the group is NaN. Every lane of the warp must call it.
  __device__ bool any_nan() const {
    bool mine = false;
    for (int k = 0; k < G::kValues; ++k) mine |= at[k] != at[k];
    const unsigned all = __ballot_sync(kAllLanes, mine);
    const unsigned first = threadIdx.x % kWarpThreads / G::kLanes * G::kLanes;
    return (all >> first & kAllLanes >> (kWarpThreads - G::kLanes)) != 0;
  }

 private:
  /// The same bits in each lane of the group: both of a pair add the same two numbers.
  static __device__ float group_sum(float value) {
    for (unsigned distance = G::kLanes / 2; distance > 0; distance /= 2) {
      value += __shfl_xor_sync(kAllLanes, value, distance);
    }
    return value;
  }

  __device__ void take(float value, int c) {
    if (value > peak || (value == peak && c < best)) {
      peak = value;
      best = c;
    }
  }
};

/// What is added up over the images: their losses, and how many are right.
inline constexpr int kTotals = 2;

/// Leaves `mine` in of_block and returns true in the block that is the last to do so, for which those of all
/// are visible.
__device__ __forceinline__ bool arrive_last(const float (&mine)[kTotals], volatile float* of_block,
                                            unsigned* arrived) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    for (int k = 0; k < kTotals; ++k) of_block[blockIdx.x * kTotals + k] = mine[k];
    __threadfence();
    last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;  // wraps to 0: ready for the next call
    __threadfence();
  }
  __syncthreads();
  return last;
}

/// Blocks of a forward kernel, in which each group takes an image at a time.
inline unsigned forward_blocks(const OpShape& s) {
  std::int64_t blocks = 0;
  with_group(s.in_channels, [&](auto group) {
    constexpr auto kImages = static_cast<std::int64_t>(decltype(group)::kImages);
    blocks = (s.batch + kImages - 1) / kImages;
  });
  return static_cast<unsigned>(std::min(blocks, kMostBlocks));
}

inline std::size_t forward_workspace(const OpShape& s, core::Precision) {
  return forward_blocks(s) * kTotals * sizeof(float);
}

}  // namespace warpscope::ops::cross_entropy
