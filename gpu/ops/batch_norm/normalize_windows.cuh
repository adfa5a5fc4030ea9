#pragma once
// The last pass of batch_norm.forward and all of infer where a max pooling comes behind: a thread normalizes 16 bytes
// of neighbouring channels of a whole window and writes the largest and its place only. Values are rounded to the
// stored type before they are compared, so that results and ties have the bits of the same ops apart. The last windows
// come first, as in normalize_columns.cuh. At most 78 registers, no shared memory, no spills. Source: batch_norm.cpp;
// maxpool2d.cpp; columns.cuh.

#include <cmath>
#include <cstdint>

#include "gpu/ops/batch_norm/normalize_columns.cuh"
#include "gpu/ops/batch_norm/pooled_windows.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {

/// What the pooling writes.
template <class T>
struct Pooled {
  T* values;
  std::uint8_t* places;
};

template <class T, int V, class Window, class Moments>
__global__ __launch_bounds__(kColumnThreads) void batch_norm_pool_windows(
    Columns columns, Windows<Window> windows, const T* __restrict__ x, const T* __restrict__ gamma,
    const T* __restrict__ beta, Moments moments, bool relu, Pooled<T> to) {
  constexpr unsigned kPlaces = kTogether<Window>;
  const ColumnWalk<V> walk(columns);
  if (!walk.inside) return;
  const ChannelNorm<V> norm(moments, gamma, beta, walk.channel);
  const Window window = windows.window;
  for (std::int64_t back = walk.first; back < walk.end; back += walk.step) {
    const std::int64_t w = columns.positions - 1 - back;
    const T* corner = x + windows(w).pixel * columns.channels + walk.channel;
    maxpool2d::Largest largest[V];
#pragma unroll
    for (int j = 0; j < V; ++j) largest[j] = {-INFINITY, 0};
#pragma unroll(Window::unrolled)
    for (unsigned first = 0; first < window.height * window.width; first += kPlaces) {
      Vec<T, V> values[kPlaces];
#pragma unroll
      for (unsigned i = 0; i < kPlaces; ++i) {
        values[i] = vector_at<V>(corner + windows.pixels_to(first + i) * columns.channels);
      }
#pragma unroll
      for (unsigned i = 0; i < kPlaces; ++i) {
#pragma unroll
        for (int j = 0; j < V; ++j) {
          largest[j].meet(to_float(from_float<T>(norm(to_float(values[i].at[j]), j, relu))), first + i);
        }
      }
    }
    float results[V];
    Vec<std::uint8_t, V> places;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      results[j] = largest[j].value;
      places.at[j] = static_cast<std::uint8_t>(largest[j].place);
    }
    const std::int64_t pooled = w * columns.channels + walk.channel;
    store_floats(to.values + pooled, results);
    *reinterpret_cast<Vec<std::uint8_t, V>*>(to.places + pooled) = places;
  }
}

/// Normalizes and pools with these moments, as a call of the variant `pooled` says.
template <class T, class Moments>
void pool_windows(const OpCall& call, Moments moments) {
  const T* x = call.operand<const T>(Name::input);
  const Pooled<T> to{call.operand<T>(Name::output), call.operand<std::uint8_t>(Name::argmax)};
  const std::int64_t count = whole_windows(call.shape);
  with_width_and_window<T>(call.shape, aligned_16(x, to.values, to.places), [&](auto width, auto window) {
    using Window = decltype(window);
    constexpr int kWidth = decltype(width)::value;
    const ColumnGrid grid = column_grid<kWidth>(count, call.shape.in_channels, written_spans(count));
    run_kernel(call, {grid.blocks, kColumnThreads}, batch_norm_pool_windows<T, kWidth, Window, Moments>,
               grid.columns, windows_of(call.shape, window, false), x, Name::weights, Name::bias, moments,
               call.covers(Op::relu_forward), to);
  });
}

}  // namespace warpscope::ops::batch_norm
