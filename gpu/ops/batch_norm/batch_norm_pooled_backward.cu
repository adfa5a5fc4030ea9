// batch_norm.backward, variant `pooled`: the gradient of a max pooling behind the batch norm is spread in the same
// call. Over `warp_shuffle` it adds that neither pass reads dy, which is zero but for one element of a window: both
// read the pooled gradient and the place of each window's largest, and nobody writes dy. A thread takes 16 bytes of
// neighbouring channels of a whole window. Only the largest elements have a part in dgamma and dbeta; the other x are
// read with them, since memory moves 32 bytes at a time. Sums over shares of the windows, which the blocks walk side
// by side from the last window on, go to the workspace, and a second kernel adds these in an order that only
// the shape fixes (norm_sums.cuh). The pass that writes dx also takes windows at the lower and right edge that lie half
// outside: pooling dropped what is in them, so dy is 0 there, but not dx.
//
// Limits: none on the shape; windows of 2x2, 1x2, 1x3 and 3x3 are unrolled; channels that are no multiple of 16 bytes,
// and memory that does not start at one, go an element at a time. Bound by memory: x, the pooled gradient and the
// places are read twice. At most 128 registers, 4 KiB of shared memory, no spills; workspace: at most 2 KiB a channel.
// Source: batch_norm.cpp; maxpool2d.cpp; columns.cuh; M. Harris, "Faster Parallel Reductions on Kepler" (2014).

#include <cstdint>

#include "gpu/ops/batch_norm/pooled_windows.cuh"
#include "gpu/ops/chains.h"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/norm_sums.cuh"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {
namespace {

/// The gradient of the pooled image and the places of the largest elements.
template <class T>
struct PooledGradient {
  const T* values;
  const std::uint8_t* places;
};

/// That of V channels of one window. Without one no place of a window is the winner.
template <class T, int V>
struct Winners {
  Vec<T, V> gradients = {};
  Vec<std::uint8_t, V> places;

  __device__ __forceinline__ Winners() {
#pragma unroll
    for (int j = 0; j < V; ++j) places.at[j] = maxpool2d::kMostPlaces;
  }
  __device__ __forceinline__ Winners(const PooledGradient<T>& from, std::int64_t element)
      : gradients(vector_at<V>(from.values + element)), places(vector_at<V>(from.places + element)) {}

  __device__ __forceinline__ float gradient(int j) const {
    return to_float(gradients.at[j]);
  }
  /// dy of channel j at `place`.
  __device__ __forceinline__ float dy(int j, unsigned place) const {
    return places.at[j] == place ? gradient(j) : 0.0f;
  }
};

/// The parts that a block's share of the windows has in dgamma and dbeta.
template <class T, int V, class Window>
__global__ __launch_bounds__(kColumnThreads) void batch_norm_pooled_spans(
    Columns columns, Windows<Window> windows, const T* __restrict__ x, PooledGradient<T> dy,
    OfChannels statistics, NormSums to) {
  const ColumnWalk<V, Walk::together> walk(columns);
  const Window window = windows.window;
  float sums[2][V] = {};
  if (walk.inside) {
    float mean[V];
#pragma unroll
    for (int j = 0; j < V; ++j) mean[j] = statistics.means[walk.channel + j];
    for (std::int64_t back = walk.first; back < walk.end; back += walk.step) {
      const std::int64_t w = columns.positions - 1 - back;
      const T* corner = x + windows(w).pixel * columns.channels + walk.channel;
      const Winners<T, V> winners(dy, w * columns.channels + walk.channel);
      float largest[V] = {};
#pragma unroll(Window::unrolled)
      for (unsigned place = 0; place < window.height * window.width; ++place) {
        float values[V];
        load_floats(corner + windows.pixels_to(place) * columns.channels, values);
#pragma unroll
        for (int j = 0; j < V; ++j) largest[j] = winners.places.at[j] == place ? values[j] : largest[j];
      }
#pragma unroll
      for (int j = 0; j < V; ++j) {
        sums[0][j] += winners.gradient(j) * (largest[j] - mean[j]);
        sums[1][j] += winners.gradient(j);
      }
    }
#pragma unroll
    for (int j = 0; j < V; ++j) sums[0][j] *= statistics.factors[walk.channel + j];
  }
  const std::int64_t place = blockIdx.y * to.stride;
  add_columns(columns, sums, [&](int n, int channel, float total) {
    (n == 0 ? to.dgamma : to.dbeta)[place + channel] = total;
  });
}

/// The sums over the batch.
struct Sums {
  const float* dgamma;
  const float* dbeta;
};

/// What a thread keeps of its V channels: dx = scale dy - ((x - mean) slope + offset), the formula of batch_norm.cpp.
template <int V>
struct InputGradient {
  float mean[V];
  float scale[V];
  float slope[V];
  float offset[V];

  /// `share` is that of a position in a mean.
  template <class T>
  __device__ __forceinline__ InputGradient(const OfChannels& statistics, const T* gamma, const Sums& sums,
                                           float share, int channel) {
    const OfChannels::Normal<V> normal(statistics, channel);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      mean[j] = normal.mean[j];
      scale[j] = normal.factor[j] * to_float(gamma[channel + j]);
      slope[j] = scale[j] * (normal.factor[j] * (sums.dgamma[channel + j] * share));
      offset[j] = scale[j] * (sums.dbeta[channel + j] * share);
    }
  }
  __device__ __forceinline__ float operator()(float x, float dy, int j) const {
    return scale[j] * dy - ((x - mean[j]) * slope[j] + offset[j]);
  }
  /// Writes what lies at `place` of a window.
  template <class T>
  __device__ __forceinline__ void write(const Vec<T, V>& x, const Winners<T, V>& winners, unsigned place,
                                        T* dx) const {
    float values[V];
#pragma unroll
    for (int j = 0; j < V; ++j) values[j] = (*this)(to_float(x.at[j]), winners.dy(j, place), j);
    store_floats(dx, values);
  }
};

/// Blocks that shall fit a multiprocessor at once. Without the number the compiler spills registers for one more.
template <class Window>
inline constexpr int kWritingBlocks = Window::unrolled <= 3 ? 3 : 2;

/// `windows` are also those of which only a part lies inside.
template <class T, int V, class Window>
__global__ __launch_bounds__(kColumnThreads, kWritingBlocks<Window>) void batch_norm_pooled_input_gradient(
    Columns columns, Windows<Window> windows, float share, const T* __restrict__ x, PooledGradient<T> dy,
    const T* __restrict__ gamma, OfChannels statistics, Sums sums, T* __restrict__ dx) {
  constexpr unsigned kPlaces = kTogether<Window>;
  const ColumnWalk<V> walk(columns);
  if (!walk.inside) return;
  const InputGradient<V> gradient(statistics, gamma, sums, share, walk.channel);
  const Window window = windows.window;
  const unsigned whole_rows = windows.height / window.height;
  const unsigned whole_columns = windows.width / window.width;
  for (std::int64_t w = walk.first; w < walk.end; w += walk.step) {
    const PlacedWindow at = windows(w);
    const std::int64_t corner = at.pixel * columns.channels + walk.channel;
    const auto element = [&](unsigned place) { return corner + windows.pixels_to(place) * columns.channels; };
    if (at.row < whole_rows && at.column < whole_columns) {
      const std::int64_t pooled = (at.image * whole_rows + at.row) * whole_columns + at.column;
      const Winners<T, V> winners(dy, pooled * columns.channels + walk.channel);
#pragma unroll(Window::unrolled)
      for (unsigned first = 0; first < window.height * window.width; first += kPlaces) {
        Vec<T, V> values[kPlaces];
#pragma unroll
        for (unsigned i = 0; i < kPlaces; ++i) values[i] = vector_at<V>(x + element(first + i));
#pragma unroll
        for (unsigned i = 0; i < kPlaces; ++i)
          gradient.write(values[i], winners, first + i, dx + element(first + i));
      }
      continue;
    }
    const unsigned rows = min(window.height, windows.height - window.height * at.row);
    const unsigned in_row = min(window.width, windows.width - window.width * at.column);
#pragma unroll 1
    for (unsigned place = 0; place < rows * window.width; ++place) {
      if (place % window.width >= in_row) continue;
      gradient.write(vector_at<V>(x + element(place)), Winners<T, V>(), place, dx + element(place));
    }
  }
}

/// Enqueues both sums.
template <class T>
void sum_gradients(const OpCall& call, const T* x, PooledGradient<T> dy, OfChannels statistics) {
  const std::int64_t count = whole_windows(call.shape);
  add_norm_spans(call, count, [&](std::int64_t spans, const NormSums& to) {
    with_width_and_window<T>(call.shape, aligned_16(x, dy.values, dy.places), [&](auto width, auto window) {
      using Window = decltype(window);
      constexpr int kWidth = decltype(width)::value;
      const ColumnGrid grid = column_grid<kWidth>(count, call.shape.in_channels, spans);
      run_kernel(call, "sums", {grid.blocks, kColumnThreads}, batch_norm_pooled_spans<T, kWidth, Window>,
                 grid.columns, windows_of(call.shape, window, false), x, dy, statistics, to);
    });
  });
}

/// Enqueues the pass that writes dx.
template <class T>
void write_input_gradient(const OpCall& call, const T* x, PooledGradient<T> dy, OfChannels statistics,
                          Sums sums) {
  const int channels = call.shape.in_channels;
  T* dx = call.operand<T>(Name::input_gradient);
  with_width_and_window<T>(call.shape, aligned_16(x, dy.values, dy.places, dx), [&](auto width, auto window) {
    using Window = decltype(window);
    constexpr int kWidth = decltype(width)::value;
    const Windows<Window> windows = windows_of(call.shape, window, true);
    const std::int64_t count = call.shape.batch * windows.rows * windows.columns;
    const ColumnGrid grid = column_grid<kWidth>(count, channels, written_spans(count));
    run_kernel(call, {grid.blocks, kColumnThreads}, batch_norm_pooled_input_gradient<T, kWidth, Window>,
               grid.columns, windows, 1.0f / static_cast<float>(sizes::pixels(call.shape)), x, dy,
               Name::weights, statistics, sums, dx);
  });
}

void backward(const OpCall& call) {
  const auto* statistics = call.operand<const float>(Name::statistics);
  const OfChannels moments{statistics, statistics + call.shape.in_channels};
  const Sums sums{call.operand<const float>(Name::weights_gradient),
                  call.operand<const float>(Name::bias_gradient)};
  with_storage(call.precision, [&]<class T>(T) {
    const T* x = call.operand<const T>(Name::input);
    const PooledGradient<T> dy{call.operand<const T>(Name::output_gradient),
                               call.operand<const std::uint8_t>(Name::argmax)};
    sum_gradients<T>(call, x, dy, moments);
    write_input_gradient<T>(call, x, dy, moments, sums);
  });
}

std::size_t backward_workspace(const OpShape& s, core::Precision) {
  return norm_gradients_workspace(whole_windows(s), s.in_channels);
}

}  // namespace

Variant pooled_backward() {
  return cuda_variant(
      Op::batch_norm_backward, "pooled", backward,
      "The gradient of a max pooling spread in both passes: neither reads what is zero.",
      {.chain = unpooling_before(Op::batch_norm_backward), .workspace_bytes = backward_workspace});
}

}  // namespace warpscope::ops::batch_norm
