#pragma once
// What the two kernels of the gradient of the weights have in common, hopper_general_weights.cuh and
// hopper_general_turned_weights.cu: what a block does, who does it, and where its partial sums go.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/ops/conv2d/hopper_general/hopper_general_weights.h"

namespace warpscope::ops::conv2d::hopper_general {

inline constexpr int kWarpgroup = static_cast<int>(fused::hopper::kWarpgroup);
inline constexpr int kWeightThreads = (1 + kConsumers) * kWarpgroup;
inline constexpr int kCopyingRegisters = 56;
inline constexpr int kMultiplyingRegisters = 224;
inline constexpr int kAddingWarps = 3;  ///< of dy, beside the one that copies
inline constexpr unsigned kMostSharedBytes = 227 << 10;
inline constexpr int kMostWeightStages = 8;

/// What a block does.
struct Work {
  int first_unit;
  int first_column;
  int tap;  ///< of taps in columns
  int first_stage;
  int end_stage;
  bool adds;  ///< the gradient of the bias, too
};

template <class S>
__device__ __forceinline__ Work work_of(const WeightsProblem& q) {
  const int i = static_cast<int>(blockIdx.x);
  const int line = i / q.column_tiles;
  const int tap = line / q.groups;
  const int tile = i - line * q.column_tiles;
  const int group = line - tap * q.groups;
  const int first = static_cast<int>(blockIdx.y) * q.per_split;
  const bool first_of_dy = q.taps_in_rows ? group == 0 : tap == 0 && tile == 0;
  return {group * S::units,     tile * S::columns, tap, first, min(first + q.per_split, q.stages),
          q.bias && first_of_dy};
}

/// One thread, before the block's first __syncthreads.
template <class S>
__device__ __forceinline__ void make_weight_barriers(const fused::hopper::StagePlaces<S>& at,
                                                     const Work& work) {
  constexpr unsigned kConsumerWarps = kConsumers * kWarpgroup / 32;
  for (int i = 0; i < S::stages; ++i) {
    fused::hopper::make_barrier(at.full(i), 1);
    fused::hopper::make_barrier(at.empty(i), kConsumerWarps + (work.adds ? kAddingWarps * 32 : 0));
  }
  fused::hopper::publish_barriers();
}

/// The partial sums of a unit lie as the threads of a warpgroup hold them (hopper_ptx.cuh): thread i's sums d[4 j] to
/// d[4 j + 3] are the unit's quad 128 j + i, so that a warp writes 512 bytes in one piece.
template <class S>
__device__ __forceinline__ void write_partial(const WeightsProblem& q, const Work& work,
                                              const float (&sums)[S::products][S::sums], float* partial,
                                              int consumer, int thread) {
  auto* const split = reinterpret_cast<float4*>(partial + blockIdx.y * q.split_elements);
#pragma unroll
  for (int p = 0; p < S::products; ++p) {
    const int u = consumer * S::products + p;
    if (work.first_unit + u >= q.units) continue;
    const auto unit = static_cast<std::int64_t>(blockIdx.x) * S::units + u;
    float4* const to = split + unit * (S::columns / 8 * kWarpgroup) + thread;
#pragma unroll
    for (int j = 0; j < S::sums / 4; ++j) {
      to[j * kWarpgroup] = float4{sums[p][4 * j], sums[p][4 * j + 1], sums[p][4 * j + 2], sums[p][4 * j + 3]};
    }
  }
}

}  // namespace warpscope::ops::conv2d::hopper_general
