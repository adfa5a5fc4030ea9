#pragma once
// The last pass of batch_norm.forward and all of infer: y = ((x - shift) - rest) r gamma + beta, whose numbers for
// its channels a thread keeps in registers; where a ReLU is covered, what is below 0 becomes 0 and a NaN stays.

#include <cstdint>

#include "gpu/core/cuda.h"
#include "gpu/ops/columns.cuh"
#include "gpu/ops/normalization.h"

namespace warpscope::ops::batch_norm {

/// The moments of a batch: the mean is shift + rest, which as one number would be too rough.
struct BatchMoments {
  const float* shifts;
  const float* rests;
  const float* factors;

  __device__ float shift(int channel) const { return shifts[channel]; }
  __device__ float rest(int channel) const { return rests[channel]; }
  __device__ float factor(int channel) const { return factors[channel]; }
};

struct RunningMoments {
  const float* means;
  const float* variances;

  __device__ float shift(int channel) const { return means[channel]; }
  __device__ float rest(int) const { return 0.0f; }
  __device__ float factor(int channel) const { return reciprocal_deviation(variances[channel]); }
};

// x and y may be the same memory, hence no __restrict__ on them.
template <class T, int V, class Moments>
__global__ __launch_bounds__(kColumnThreads) void batch_norm_normalize_columns(Columns columns, const T* x,
                                                                               const T* __restrict__ gamma,
                                                                               const T* __restrict__ beta,
                                                                               Moments moments, bool relu,
                                                                               T* y) {
  const ColumnWalk<V> walk(columns);
  if (!walk.inside) return;
  float shift[V];
  float rest[V];
  float scale[V];
  float offset[V];
#pragma unroll
  for (int j = 0; j < V; ++j) {
    const int channel = walk.channel + j;
    shift[j] = moments.shift(channel);
    rest[j] = moments.rest(channel);
    scale[j] = moments.factor(channel) * to_float(gamma[channel]);
    offset[j] = to_float(beta[channel]);
  }
#pragma unroll 4
  for (std::int64_t p = walk.first; p < walk.end; p += walk.step) {
    const std::int64_t place = p * columns.channels + walk.channel;
    float values[V];
    load_floats(x + place, values);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      values[j] = ((values[j] - shift[j]) - rest[j]) * scale[j] + offset[j];
      if (relu && values[j] < 0.0f) values[j] = 0.0f;
    }
    store_floats(y + place, values);
  }
}

template <class T, class Moments>
void normalize_columns(std::int64_t positions, int channels, const T* x, const T* gamma, const T* beta,
                       Moments moments, bool relu, T* y, cudaStream_t stream) {
  with_column_width<T>(channels, aligned_16(x, y), [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const ColumnGrid grid = column_grid<kWidth>(positions, channels, written_spans(positions));
    batch_norm_normalize_columns<T, kWidth, Moments>
        <<<grid.blocks, kColumnThreads, 0, stream>>>(grid.columns, x, gamma, beta, moments, relu, y);
  });
}

}  // namespace warpscope::ops::batch_norm
