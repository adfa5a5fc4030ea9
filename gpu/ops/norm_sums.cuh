#pragma once
// The gradients of gamma and beta, which layer_norm and batch_norm take alike:
//
//   dgamma[c] = sum over positions of dy xn,  dbeta[c] = sum of dy,  xn = (x - mean) r
//
// but for where mean and r come from. Blocks add shares of the positions in registers, by shuffles and in shared
// memory; if there are several shares, their sums go to the workspace and a second kernel adds those: all in an order
// that only the shape fixes. All blocks go from the last position to the first side by side: what was written last,
// dy, is read first, and the kernel after this one begins where this one ends.
// Source: columns.cuh; M. Harris, "Faster Parallel Reductions on Kepler" (2014).

#include <cstddef>
#include <cstdint>

#include "gpu/ops/columns.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/sizes.h"

namespace warpscope::ops {

/// Mean and r of each position: layer_norm.
struct OfPositions {
  const float* means;
  const float* factors;

  template <int V>
  struct Normal {
    const float* means;
    const float* factors;
    float mean = 0.0f;
    float factor = 0.0f;
    __device__ Normal(const OfPositions& all, int) : means(all.means), factors(all.factors) {}
    __device__ void go_to(std::int64_t position) {
      mean = means[position];
      factor = factors[position];
    }
    __device__ float operator()(float x, int) const { return (x - mean) * factor; }
  };
};

/// Mean and r of each channel: batch_norm.
struct OfChannels {
  const float* means;
  const float* factors;

  template <int V>
  struct Normal {
    float mean[V];
    float factor[V];
    __device__ Normal(const OfChannels& all, int channel) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        mean[j] = all.means[channel + j];
        factor[j] = all.factors[channel + j];
      }
    }
    __device__ void go_to(std::int64_t) {}
    __device__ float operator()(float x, int j) const {
      return (x - mean[j]) * factor[j];
    }
  };
};

/// Where the sums of a share go: dgamma of share i to dgamma[i * stride].
struct NormSums {
  float* dgamma;
  float* dbeta;
  std::int64_t stride;
};

template <class T, int V, class Statistics>
__global__ __launch_bounds__(kColumnThreads) void norm_gradient_spans(Columns columns,
                                                                      const T* __restrict__ x,
                                                                      const T* __restrict__ dy,
                                                                      Statistics statistics, NormSums to) {
  const ColumnWalk<V, Walk::together> walk(columns);
  float sums[2][V] = {};
  if (walk.inside) {
    typename Statistics::template Normal<V> normal(statistics, walk.channel);
#pragma unroll 4
    for (std::int64_t back = walk.first; back < walk.end; back += walk.step) {
      const std::int64_t p = columns.positions - 1 - back;
      float values[V];
      float gradients[V];
      load_floats(x + p * columns.channels + walk.channel, values);
      load_floats(dy + p * columns.channels + walk.channel, gradients);
      normal.go_to(p);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        sums[0][j] += gradients[j] * normal(values[j], j);
        sums[1][j] += gradients[j];
      }
    }
  }
  const std::int64_t place = blockIdx.y * to.stride;
  add_columns(columns, sums, [&](int n, int channel, float total) {
    (n == 0 ? to.dgamma : to.dbeta)[place + channel] = total;
  });
}

/// Adds the shares (`spans` of them): `parts` holds the dgamma and then the dbeta of each. A warp takes every eighth.
static __global__ __launch_bounds__(kColumnThreads) void norm_add_spans(int spans, int channels,
                                                                        const float* __restrict__ parts,
                                                                        float* __restrict__ dgamma,
                                                                        float* __restrict__ dbeta) {
  __shared__ float partial[kColumnWarps][kWarpThreads];
  const unsigned lane = threadIdx.x % kWarpThreads;
  const unsigned warp = threadIdx.x / kWarpThreads;
  const int column = static_cast<int>(blockIdx.x * kWarpThreads + lane);
  float sum = 0.0f;
  if (column < 2 * channels) {
#pragma unroll 4
    for (int span = static_cast<int>(warp); span < spans; span += kColumnWarps) {
      sum += parts[std::int64_t{span} * 2 * channels + column];
    }
  }
  partial[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || column >= 2 * channels) return;
  for (int i = 1; i < kColumnWarps; ++i) sum += partial[i][lane];
  (column < channels ? dgamma + column : dbeta + (column - channels))[0] = sum;
}

/// Bytes of workspace for sums over so many positions.
inline std::size_t norm_gradients_workspace(std::int64_t positions, int channels) {
  const std::int64_t spans = summed_spans(positions, channels);
  return spans == 1 ? 0 : static_cast<std::size_t>(spans * 2 * channels) * sizeof(float);
}

/// Enqueues both sums: sum(spans, to) those of the shares of `positions`, and what adds these.
template <class Sum>
void add_norm_spans(const OpCall& call, std::int64_t positions, const Sum& sum) {
  const int channels = call.shape.in_channels;
  const std::int64_t spans = summed_spans(positions, channels);
  auto* parts = static_cast<float*>(call.workspace);
  if (spans == 1) {
    const NormSums all{call.operand<float>(Name::weights_gradient), call.operand<float>(Name::bias_gradient),
                       0};
    return sum(spans, all);
  }
  sum(spans, NormSums{parts, parts + channels, 2 * std::int64_t{channels}});
  const auto blocks = static_cast<unsigned>((2 * std::int64_t{channels} + kWarpThreads - 1) / kWarpThreads);
  run_kernel(call, "sums of spans", {blocks, kColumnThreads}, norm_add_spans, spans, channels, parts,
             Name::weights_gradient, Name::bias_gradient);
}

/// Enqueues both sums of a call of a backward op.
template <class T, class Statistics>
void norm_gradients(const OpCall& call, const Statistics& statistics) {
  const std::int64_t positions = sizes::pixels(call.shape);
  const int channels = call.shape.in_channels;
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  add_norm_spans(call, positions, [&](std::int64_t spans, const NormSums& to) {
    with_column_width<T>(channels, aligned_16(x, dy), [&]<int kWidth>(std::integral_constant<int, kWidth>) {
      const ColumnGrid grid = column_grid<kWidth>(positions, channels, spans);
      run_kernel(call, "sums", {grid.blocks, kColumnThreads}, norm_gradient_spans<T, kWidth, Statistics>,
                 grid.columns, x, dy, statistics, to);
    });
  });
}

}  // namespace warpscope::ops
