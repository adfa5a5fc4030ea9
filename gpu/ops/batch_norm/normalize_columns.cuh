#pragma once
// The last pass of batch_norm.forward and all of infer: y = ((x - shift) - rest) r gamma + beta, whose numbers for
// its channels a thread keeps in registers; where a ReLU is covered, what is below 0 becomes 0 and a NaN stays; where
// an addition is covered, it comes behind that or before an activation, whose input, or what is added to, may be
// written as well. The last positions come first: what was written last is still in the second-level cache.

#include <cstdint>

#include "gpu/ops/activated_sums.cuh"
#include "gpu/ops/columns.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/normalization.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

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

/// What a thread keeps of its V channels.
template <int V>
struct ChannelNorm {
  float shift[V];
  float rest[V];
  float scale[V];
  float offset[V];

  template <class T, class Moments>
  __device__ __forceinline__ ChannelNorm(const Moments& moments, const T* gamma, const T* beta, int channel) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      shift[j] = moments.shift(channel + j);
      rest[j] = moments.rest(channel + j);
      scale[j] = moments.factor(channel + j) * to_float(gamma[channel + j]);
      offset[j] = to_float(beta[channel + j]);
    }
  }
  /// y of channel j.
  __device__ __forceinline__ float operator()(float x, int j, bool relu) const {
    const float y = ((x - shift[j]) - rest[j]) * scale[j] + offset[j];
    return relu && y < 0.0f ? 0.0f : y;
  }
};

/// Where an addition stands: behind a ReLU, if there is one, or before any activation.
enum class Sum { none, last, first };

// x and y may be the same memory, hence no __restrict__ on them. `addend`: where there is a sum. `kept`: gets what is
// added to by a last sum, or a first sum itself, if it is not nullptr.
template <class T, int V, Sum kSum, class Moments>
__global__ __launch_bounds__(kColumnThreads) void batch_norm_normalize_columns(
    Columns columns, const T* x, const T* __restrict__ gamma, const T* __restrict__ beta, Moments moments,
    Activation activation, const T* __restrict__ addend, T* __restrict__ kept, T* y) {
  const ColumnWalk<V> walk(columns);
  if (!walk.inside) return;
  const ChannelNorm<V> norm(moments, gamma, beta, walk.channel);
#pragma unroll 4
  for (std::int64_t back = walk.first; back < walk.end; back += walk.step) {
    const std::int64_t place = (columns.positions - 1 - back) * columns.channels + walk.channel;
    float values[V];
    load_floats_once(x + place, values);
    [[maybe_unused]] float addends[V];
    if constexpr (kSum != Sum::none) load_floats(addend + place, addends);
    const bool relu = kSum != Sum::first && activation == Activation::relu;
#pragma unroll
    for (int j = 0; j < V; ++j) values[j] = norm(values[j], j, relu);
    if constexpr (kSum == Sum::last) {
      if (kept != nullptr) store_floats(kept + place, values);
    }
    if constexpr (kSum != Sum::none) {
#pragma unroll
      for (int j = 0; j < V; ++j) values[j] += addends[j];
    }
    if constexpr (kSum == Sum::first) {
      if (kept != nullptr) store_floats(kept + place, values);
      activate_sums<T>(values, activation);
    }
    store_floats(y + place, values);
  }
}

/// Normalizes as the call of batch_norm.forward or infer says, with these moments. `kWith`: where a covered addition
/// stands.
template <class T, Sum kWith = Sum::last, class Moments>
void normalize_columns(const OpCall& call, Moments moments) {
  const std::int64_t positions = sizes::pixels(call.shape);
  const int channels = call.shape.in_channels;
  const T* x = call.operand<const T>(Name::input);
  const T* addend = call.operand<const T>(Name::addend);
  T* kept = call.operand<T>(kWith == Sum::first ? Name::unactivated : Name::activated);
  T* y = call.operand<T>(Name::output);
  with_column_width<T>(channels, aligned_16(x, addend, kept, y), [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const ColumnGrid grid = column_grid<kWidth>(positions, channels, written_spans(positions));
    const auto launch = [&](auto kernel) {
      run_kernel(call, {grid.blocks, kColumnThreads}, kernel, grid.columns, x, Name::weights, Name::bias,
                 moments, activation_of(call.shape.covered), addend, kept, y);
    };
    if (addend != nullptr) return launch(batch_norm_normalize_columns<T, kWidth, kWith, Moments>);
    if constexpr (kWith == Sum::last) launch(batch_norm_normalize_columns<T, kWidth, Sum::none, Moments>);
  });
}

}  // namespace warpscope::ops::batch_norm
