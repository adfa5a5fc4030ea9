// layer_norm.backward_weights, variant `pooled`: with the max pooling behind the norm, and with backward_input. Over
// `warp_shuffle` it adds that the gradient before the pooling, of which all but one position of a window are zero, is
// not stored: the pooled gradient and the places of the largest are read, and each position gets its share in
// registers; and that one pass reads x for the gradients of gamma, beta and x. A group of 8, 16 or 32 lanes takes a
// window and goes through its positions; its sums for gamma and beta stay in registers while it goes through its
// windows. Blocks add those of their groups, a second kernel adds the blocks: all in an order that only the shape
// fixes. The gradient of x has the same bits as `warp_shuffle` gives.
//
// Limits: up to 512 channels, which stay in registers; channels that are no multiple of 16 bytes, and memory that does
// not start at one, are read an element at a time. Bound by memory. At most 128 registers, 16 KiB of shared memory, no
// spills; workspace: at most 8 KiB a channel. Source: layer_norm.cpp; maxpool2d.cpp; M. Harris, "Faster Parallel
// Reductions on Kepler" (2014).

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/layer_norm/layer_norm_weight_sums.cuh"
#include "gpu/ops/layer_norm/layer_norm_windows.cuh"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::layer_norm {
namespace {

template <class T>
struct PooledBackward {
  Windows windows;
  std::int64_t span;  ///< windows of a block
  int channels;
  MeanOf mean_of;
  const T* x;
  const T* dy;
  const std::uint8_t* argmax;
  const T* gamma;
  const float* means;
  const float* factors;
  T* dx;          ///< nullptr: not wanted
  float* dgamma;  ///< of block b at dgamma[b * stride]
  float* dbeta;
  std::int64_t stride;
};

/// The gradient of a window's output and the place that it belongs to, of each channel of a lane.
template <class G>
struct PooledRow {
  static constexpr unsigned kNowhere = 255;
  Row<G> gradient;
  unsigned winner[G::kVectors][G::kWidth];

  /// `channels` is 0 for a window without output.
  template <class T>
  __device__ __forceinline__ void load(const T* gradients, const std::uint8_t* places, int channels) {
    gradient.load(gradients, channels);
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
      Vec<std::uint8_t, G::kWidth> bytes;
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) bytes.at[i] = kNowhere;
      if (Row<G>::place(k) < channels) {
        bytes = *reinterpret_cast<const Vec<std::uint8_t, G::kWidth>*>(places + Row<G>::place(k));
      }
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) winner[k][i] = bytes.at[i];
    }
  }
  /// The gradient of the position in `place` of the window.
  __device__ __forceinline__ float at(unsigned place, int k, int i) const {
    return winner[k][i] == place ? gradient.at[k][i] : 0.0f;
  }
};

/// K positions of a window.
template <class G, int K>
struct Positions {
  int offsets[K];   ///< from the corner
  int channels[K];  ///< 0 where there is no position
  float factors[K];
  Row<G> normals[K];  ///< (x - mean) factor

  /// `place` is that of the first, and then the one behind the last.
  template <class T>
  __device__ __forceinline__ void load(const PooledBackward<T>& call, const WindowAt& window, Place& place) {
    float means[K];
#pragma unroll
    for (int n = 0; n < K; ++n) {
      offsets[n] = window.offset(place);
      channels[n] = window.has(place) ? call.channels : 0;
      place.go_on(call.windows);
      const std::int64_t position = window.corner + offsets[n];
      means[n] = channels[n] > 0 ? call.means[position] : 0.0f;
      factors[n] = channels[n] > 0 ? call.factors[position] : 0.0f;
      normals[n].load(call.x + position * call.channels, channels[n]);
    }
#pragma unroll
    for (int n = 0; n < K; ++n) {
#pragma unroll
      for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
        for (int i = 0; i < G::kWidth; ++i)
          normals[n].at[k][i] = (normals[n].at[k][i] - means[n]) * factors[n];
      }
    }
  }
};

/// Adds what K positions give to the sums for gamma and beta. The gradient is 0 where there is no channel.
template <class G, int K>
__device__ __forceinline__ void add_weights(const Positions<G, K>& positions, const PooledRow<G>& pooled,
                                            int first, WeightSums<G>& sums) {
#pragma unroll
  for (int n = 0; n < K; ++n) {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) {
        const float gradient = pooled.at(static_cast<unsigned>(first + n), k, i);
        sums.gamma.at[k][i] += gradient * positions.normals[n].at[k][i];
        sums.beta.at[k][i] += gradient;
      }
    }
  }
}

/// Writes the gradient of K positions.
template <class G, int K, class T>
__device__ __forceinline__ void write_input(const PooledBackward<T>& call, const WindowAt& window,
                                            const Positions<G, K>& positions, const PooledRow<G>& pooled,
                                            int first) {
  Row<G> gamma;  // read again each time: it is in the cache, and registers are few
  gamma.load(call.gamma, call.channels);
  Row<G> gradients[K];
  float sums[2 * K] = {};
#pragma unroll
  for (int n = 0; n < K; ++n) {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) {
        gradients[n].at[k][i] = pooled.at(static_cast<unsigned>(first + n), k, i) * gamma.at[k][i];
        sums[2 * n] += gradients[n].at[k][i];
        sums[2 * n + 1] += gradients[n].at[k][i] * positions.normals[n].at[k][i];
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
        float& gradient = gradients[n].at[k][i];
        gradient = positions.factors[n] * (gradient - share - positions.normals[n].at[k][i] * products);
      }
    }
    gradients[n].store(call.dx + (window.corner + positions.offsets[n]) * call.channels,
                       positions.channels[n]);
  }
}

/// A block takes a span of windows, its groups one after the other.
template <class G, int K, class T>
__global__ __launch_bounds__(kElementThreads) void layer_norm_backward_pooled(PooledBackward<T> call) {
  constexpr auto kGroups = static_cast<std::int64_t>(G::kPositions);
  const std::int64_t begin = blockIdx.x * call.span;
  const std::int64_t end = min(begin + call.span, call.windows.count);
  WeightSums<G> sums;
  for (std::int64_t number = begin; number < end; number += kGroups) {
    const std::int64_t own = number + threadIdx.x / G::kLanes;
    const WindowAt window(call.windows, own < end ? own : call.windows.count);
    const bool has_output = window.pooled >= 0;
    const std::int64_t output = has_output ? window.pooled * call.channels : 0;
    PooledRow<G> pooled;
    pooled.load(call.dy + output, call.argmax + output, has_output ? call.channels : 0);
    Place place;
    for (int first = 0; first < call.windows.rows * call.windows.columns; first += K) {
      Positions<G, K> positions;
      positions.load(call, window, place);
      add_weights(positions, pooled, first, sums);
      if (call.dx != nullptr) write_input(call, window, positions, pooled, first);
    }
  }
  add_groups<G>(sums.gamma, call.channels, call.dgamma + blockIdx.x * call.stride);
  add_groups<G>(sums.beta, call.channels, call.dbeta + blockIdx.x * call.stride);
}

/// Blocks that leave sums: enough to fill a GPU several times, no more than a second kernel adds quickly. Only the
/// shape fixes them.
std::int64_t summed_blocks(const OpShape& s) {
  constexpr std::int64_t kFewWindows = 32;
  constexpr std::int64_t kMostBlocks = 1024;
  return std::clamp<std::int64_t>(windows_of(s).count / kFewWindows, 1, kMostBlocks);
}

/// Enqueues the pass over all windows by so many blocks.
template <class T>
void launch_windows(const OpCall& call, std::int64_t blocks, float* dgamma, float* dbeta) {
  const OpShape& s = call.shape;
  const auto* statistics = call.operand<const float>(Name::statistics);
  const bool input = call.covers(Op::layer_norm_backward_input);
  PooledBackward<T> all{windows_of(s),
                        0,
                        s.in_channels,
                        MeanOf(s.in_channels),
                        call.operand<const T>(Name::input),
                        call.operand<const T>(Name::output_gradient),
                        call.operand<const std::uint8_t>(Name::argmax),
                        input ? call.operand<const T>(Name::weights) : nullptr,
                        statistics,
                        statistics + sizes::pixels(s),
                        input ? call.operand<T>(Name::input_gradient) : nullptr,
                        dgamma,
                        dbeta,
                        2 * std::int64_t{s.in_channels}};
  all.span = (all.windows.count + blocks - 1) / blocks;
  const bool aligned = aligned_16(all.x, all.dy, all.argmax, all.gamma, all.dx);
  with_window_group<T>(s, aligned, [&](auto group, auto at_once) {
    run_kernel(call, {static_cast<unsigned>(blocks)},
               layer_norm_backward_pooled<decltype(group), decltype(at_once)::value, T>, all);
  });
}

void backward_weights(const OpCall& call) {
  add_blocks(call, summed_blocks(call.shape), [&](std::int64_t blocks, float* dgamma, float* dbeta) {
    with_storage(call.precision, [&]<class T>(T) { launch_windows<T>(call, blocks, dgamma, dbeta); });
  });
}

std::size_t backward_weights_workspace(const OpShape& s, core::Precision) {
  return blocks_workspace(summed_blocks(s), s.in_channels);
}

/// maxpool2d.backward layer_norm.backward_weights [layer_norm.backward_input]
std::vector<Link> backward_chain() {
  std::vector<Link> chain = unpooling_before(Op::layer_norm_backward_weights);
  chain.push_back({.op = Op::layer_norm_backward_input,
                   .renames = {{Name::output_gradient, Name::unpooled}},
                   .optional = true});
  return chain;
}

}  // namespace

Variant pooled_backward_weights() {
  return cuda_variant(
      Op::layer_norm_backward_weights, "pooled", backward_weights,
      "The gradient comes straight from behind the max pooling, and that of the input is made in the same "
      "pass.",
      {.chain = backward_chain(), .workspace_bytes = backward_weights_workspace, .refuses = refuses_wide});
}

}  // namespace warpscope::ops::layer_norm
