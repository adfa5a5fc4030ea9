#pragma once
// How kernels of groups of lanes (layer_norm_rows.cuh) that go through many positions add up the gradients of gamma and
// beta: lanes in registers, the groups of a block by shuffles and in shared memory, a second kernel the blocks; all in
// an order that only the shape fixes. Source: M. Harris, "Faster Parallel Reductions on Kepler" (2014).

#include <cstddef>
#include <cstdint>

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/layer_norm/layer_norm_rows.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::layer_norm {

/// Sums for gamma and beta, of each channel of a lane.
template <class G>
struct WeightSums {
  Row<G> gamma;
  Row<G> beta;

  __device__ __forceinline__ WeightSums() {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) gamma.at[k][i] = beta.at[k][i] = 0.0f;
    }
  }
};

/// Adds the sums of the block's groups and writes them to `to`. Every thread of the block must call it.
template <class G>
__device__ __forceinline__ void add_groups(Row<G>& sums, int channels, float* to) {
  constexpr unsigned kWarps = kElementThreads / kWarpThreads;
  __shared__ float partial[kWarps][G::kLanes * G::kVectors * G::kWidth];
  const unsigned warp = threadIdx.x / kWarpThreads;
#pragma unroll
  for (unsigned distance = kWarpThreads / 2; distance >= G::kLanes; distance /= 2) {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) {
        sums.at[k][i] += __shfl_xor_sync(0xffffffffu, sums.at[k][i], static_cast<int>(distance));
      }
    }
  }
  __syncthreads();  // an earlier call may still be reading
  if (threadIdx.x % kWarpThreads < G::kLanes) {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) partial[warp][Row<G>::place(k) + i] = sums.at[k][i];
    }
  }
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < channels; c += static_cast<int>(kElementThreads)) {
    float total = partial[0][c];
    for (unsigned i = 1; i < kWarps; ++i) total += partial[i][c];
    to[c] = total;
  }
}

inline constexpr unsigned kAddThreads = kMostWarps * kWarpThreads;

/// Adds the blocks: `parts` holds the dgamma and then the dbeta of each. A warp takes every 32nd block.
static __global__ __launch_bounds__(kAddThreads) void layer_norm_add_blocks(int blocks, int channels,
                                                                            const float* parts, float* dgamma,
                                                                            float* dbeta) {
  __shared__ float partial[kMostWarps][kWarpThreads];
  const unsigned lane = threadIdx.x % kWarpThreads;
  const unsigned warp = threadIdx.x / kWarpThreads;
  const int column = static_cast<int>(blockIdx.x * kWarpThreads + lane);
  float sum = 0.0f;
  if (column < 2 * channels) {
#pragma unroll 8
    for (int block = static_cast<int>(warp); block < blocks; block += static_cast<int>(kMostWarps)) {
      sum += parts[std::int64_t{block} * 2 * channels + column];
    }
  }
  partial[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || column >= 2 * channels) return;
  for (unsigned i = 1; i < kMostWarps; ++i) sum += partial[i][lane];
  (column < channels ? dgamma + column : dbeta + (column - channels))[0] = sum;
}

/// Bytes of workspace for the sums of so many blocks.
inline std::size_t blocks_workspace(std::int64_t blocks, int channels) {
  return blocks == 1 ? 0 : static_cast<std::size_t>(blocks * 2 * channels) * sizeof(float);
}

/// Enqueues sum(blocks, dgamma, dbeta), in which block b leaves its sums 2 b channels behind these, and what adds the
/// blocks.
template <class Sum>
void add_blocks(const OpCall& call, std::int64_t blocks, Sum sum) {
  const int channels = call.shape.in_channels;
  auto* const dgamma = call.operand<float>(Name::weights_gradient);
  auto* const dbeta = call.operand<float>(Name::bias_gradient);
  if (blocks == 1) return sum(blocks, dgamma, dbeta);
  auto* const parts = static_cast<float*>(call.workspace);
  sum(blocks, parts, parts + channels);
  const unsigned groups = (2 * static_cast<unsigned>(channels) + kWarpThreads - 1) / kWarpThreads;
  run_kernel(call, "sums of the blocks", {groups, kAddThreads}, layer_norm_add_blocks, blocks, channels,
             parts, dgamma, dbeta);
}

}  // namespace warpscope::ops::layer_norm
