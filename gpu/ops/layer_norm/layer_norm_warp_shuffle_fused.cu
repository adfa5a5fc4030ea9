// layer_norm.backward_weights, variant `warp_shuffle_fused`: with backward_input. Over `warp_shuffle` it adds that x
// and dy are read once for the gradients of gamma, beta and x, not once for the first two and once more for the last. A
// group of 8, 16 or 32 lanes takes two positions at a time, so that several reads are under way, or one where a lane
// has more than a vector of channels; its sums for gamma and beta stay in registers. Blocks go side by side from the
// last position to the first: what was written last, dy, is still in the second-level cache. The gradient of x has the
// same bits as `warp_shuffle` gives.
//
// Limits: up to 512 channels, which stay in registers; channels that are no multiple of 16 bytes, and memory that does
// not start at one, are read an element at a time. Bound by memory: x and dy are read once, dx is written. At most 128
// registers, 16 KiB of shared memory; workspace: at most 6.2 KiB a channel. Source: layer_norm.cpp; normalization.h.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/columns.cuh"
#include "gpu/ops/layer_norm/layer_norm_weight_sums.cuh"
#include "gpu/ops/layer_norm/layer_norm_windows.cuh"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::layer_norm {
namespace {

/// What the kernel reads and writes.
template <class T>
struct AllGradients {
  std::int64_t positions;
  int channels;
  MeanOf mean_of;
  const T* x;
  const T* dy;
  const T* gamma;
  const float* means;
  const float* factors;
  T* dx;
  float* dgamma;  ///< of block b at dgamma[b * stride]
  float* dbeta;
  std::int64_t stride;
};

/// Those that a group works on at once.
template <class G>
constexpr int kPositionsAtOnce = G::kWidth > 1 && G::kVectors == 1 ? 2 : 1;

/// K positions of a group: what is read of them.
template <class G, int K>
struct ReadPositions {
  std::int64_t number[K];
  int channels[K];  ///< 0 where there is no position
  float means[K];
  float factors[K];
  Row<G> normals[K];  ///< x, then (x - mean) factor
  Row<G> gradients[K];

  /// Those `apart` from each other, from the `back`-th last of the batch on towards its beginning.
  template <class T>
  __device__ __forceinline__ ReadPositions(const AllGradients<T>& call, std::int64_t back, int apart) {
#pragma unroll
    for (int n = 0; n < K; ++n) {
      const std::int64_t position = call.positions - 1 - back - n * apart;
      channels[n] = position >= 0 ? call.channels : 0;
      number[n] = position >= 0 ? position : 0;
      means[n] = call.means[number[n]];
      factors[n] = call.factors[number[n]];
      normals[n].load(call.x + number[n] * call.channels, channels[n]);
      gradients[n].load(call.dy + number[n] * call.channels, channels[n]);
    }
  }
};

/// Adds what the positions give to the sums for gamma and beta, and writes their gradients. The gradient that is read
/// is 0 where there is no channel. Every lane of the warp must call it.
template <class G, int K, class T>
__device__ __forceinline__ void finish_positions(const AllGradients<T>& call, ReadPositions<G, K>& read,
                                                 const Row<G>& gamma, WeightSums<G>& weights) {
  float sums[2 * K] = {};
#pragma unroll
  for (int n = 0; n < K; ++n) {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) {
        float& normal = read.normals[n].at[k][i];
        float& gradient = read.gradients[n].at[k][i];
        normal = (normal - read.means[n]) * read.factors[n];
        weights.gamma.at[k][i] += gradient * normal;
        weights.beta.at[k][i] += gradient;
        gradient *= gamma.at[k][i];
        sums[2 * n] += gradient;
        sums[2 * n + 1] += gradient * normal;
      }
    }
  }
  group_sums<G>(sums);
#pragma unroll
  for (int n = 0; n < K; ++n) {
    const float share = call.mean_of(sums[2 * n]);
    const float products = call.mean_of(sums[2 * n + 1]);
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) {
        float& gradient = read.gradients[n].at[k][i];
        gradient = read.factors[n] * (gradient - share - read.normals[n].at[k][i] * products);
      }
    }
    read.gradients[n].store(call.dx + read.number[n] * call.channels, read.channels[n]);
  }
}

template <class G, class T>
__global__ __launch_bounds__(kElementThreads) void layer_norm_all_gradients(AllGradients<T> call) {
  constexpr int kAtOnce = kPositionsAtOnce<G>;
  constexpr auto kGroups = static_cast<int>(G::kPositions);
  constexpr std::int64_t kOfBlock = kGroups * kAtOnce;
  const auto group = static_cast<int>(threadIdx.x / G::kLanes);
  Row<G> gamma;
  gamma.load(call.gamma, call.channels);
  WeightSums<G> weights;
  for (std::int64_t back = blockIdx.x * kOfBlock; back < call.positions; back += gridDim.x * kOfBlock) {
    ReadPositions<G, kAtOnce> read(call, back + group, kGroups);
    finish_positions(call, read, gamma, weights);
  }
  add_groups<G>(weights.gamma, call.channels, call.dgamma + blockIdx.x * call.stride);
  add_groups<G>(weights.beta, call.channels, call.dbeta + blockIdx.x * call.stride);
}

/// Enough to fill a GPU in whole rounds of two or three blocks a multiprocessor, no more than a second kernel adds
/// quickly. Only the shape fixes them.
std::int64_t gradient_blocks(const OpShape& s) {
  constexpr std::int64_t kFewPositions = 32;
  constexpr std::int64_t kMostBlocks = 6 * kPlannedProcessors;
  return std::clamp<std::int64_t>(sizes::pixels(s) / kFewPositions, 1, kMostBlocks);
}

template <class T>
void launch_gradients(const OpCall& call, std::int64_t blocks, float* dgamma, float* dbeta) {
  const int channels = call.shape.in_channels;
  const std::int64_t positions = sizes::pixels(call.shape);
  const auto* statistics = call.operand<const float>(Name::statistics);
  const AllGradients<T> all{positions,
                            channels,
                            MeanOf(channels),
                            call.operand<const T>(Name::input),
                            call.operand<const T>(Name::output_gradient),
                            call.operand<const T>(Name::weights),
                            statistics,
                            statistics + positions,
                            call.operand<T>(Name::input_gradient),
                            dgamma,
                            dbeta,
                            2 * std::int64_t{channels}};
  with_column_width<T>(channels, aligned_16(all.x, all.dy, all.gamma, all.dx), [&](auto width) {
    with_group<decltype(width)::value>(channels, [&](auto group) {
      run_kernel(call, {static_cast<unsigned>(blocks)}, layer_norm_all_gradients<decltype(group), T>, all);
    });
  });
}

void all_gradients(const OpCall& call) {
  add_blocks(call, gradient_blocks(call.shape), [&](std::int64_t blocks, float* dgamma, float* dbeta) {
    with_storage(call.precision, [&]<class T>(T) { launch_gradients<T>(call, blocks, dgamma, dbeta); });
  });
}

std::size_t all_gradients_workspace(const OpShape& s, core::Precision) {
  return blocks_workspace(gradient_blocks(s), s.in_channels);
}

}  // namespace

Variant warp_shuffle_fused_backward_weights() {
  return cuda_variant(
      Op::layer_norm_backward_weights, "warp_shuffle_fused", all_gradients,
      "The gradient of the input in the same pass: what both read is read once.",
      {.special = true,
       .chain = {{.op = Op::layer_norm_backward_weights}, {.op = Op::layer_norm_backward_input}},
       .workspace_bytes = all_gradients_workspace,
       .refuses = refuses_wide});
}

}  // namespace warpscope::ops::layer_norm
