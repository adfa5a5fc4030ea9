// batch_norm.forward and infer, variant `pooled`: the max pooling behind the batch norm, and a ReLU between them, run
// in the pass that writes. A thread normalizes 16 bytes of neighbouring channels of a whole window and writes the
// largest and its place alone: what would be written, read and written again never leaves the registers. Over `welford`
// and `vectorized` it adds that. Moments are those of `welford`, by the same kernels, and values are rounded to the
// stored type before they are compared, so that statistics, results and ties have the bits of the same ops apart.
//
// Limits: none on the shape; windows of 2x2, 1x2, 1x3 and 3x3 are unrolled; channels that are no multiple of 16 bytes,
// and memory that does not start at one, go an element at a time. Bound by memory: x is read twice (infer: once),
// pooled values and a byte for each are written. At most 78 registers, no shared memory, no spills, beside those of
// welford_moments.cuh; workspace: that of these. Source: batch_norm.h; maxpool2d.h; columns.cuh.

#include <cmath>
#include <cstdint>

#include "gpu/core/cuda.h"
#include "gpu/ops/batch_norm/batch_norm.h"
#include "gpu/ops/batch_norm/batch_norm_variants.h"
#include "gpu/ops/batch_norm/normalize_columns.cuh"
#include "gpu/ops/batch_norm/pooled_windows.cuh"
#include "gpu/ops/batch_norm/welford_moments.cuh"
#include "gpu/ops/chains.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::batch_norm {
namespace {

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
  for (std::int64_t w = walk.first; w < walk.end; w += walk.step) {
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

/// Normalizes and pools with these moments.
template <class T, class Moments>
void pool_windows(const OpCall& call, Moments moments) {
  const T* x = call.operand<const T>(Name::input);
  const Pooled<T> to{call.operand<T>(Name::output), call.operand<std::uint8_t>(Name::argmax)};
  const std::int64_t count = whole_windows(call.shape);
  with_width_and_window<T>(call.shape, aligned_16(x, to.values, to.places), [&](auto width, auto window) {
    using Window = decltype(window);
    constexpr int kWidth = decltype(width)::value;
    const ColumnGrid grid = column_grid<kWidth>(count, call.shape.in_channels, written_spans(count));
    batch_norm_pool_windows<T, kWidth, Window, Moments>
        <<<grid.blocks, kColumnThreads, 0, core::cuda_stream(*call.stream)>>>(
            grid.columns, windows_of(call.shape, window, false), x, call.operand<const T>(Name::weights),
            call.operand<const T>(Name::bias), moments, call.covers(Op::relu_forward), to);
  });
}

void forward(const OpCall& call) {
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    pool_windows<T>(call,
                    welford_moments(sizes::pixels(call.shape), call.shape.in_channels,
                                    call.operand<const T>(Name::input), call.operand<float>(Name::statistics),
                                    call.workspace, core::cuda_stream(*call.stream)));
  });
  core::check_launch("batch_norm.forward pooled");
}

std::size_t forward_workspace(const OpShape& s, core::Precision) {
  return welford_workspace(sizes::pixels(s), s.in_channels);
}

void infer(const OpCall& call) {
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    pool_windows<T>(call, RunningMoments{call.operand<const float>(Name::running_mean),
                                         call.operand<const float>(Name::running_variance)});
  });
  core::check_launch("batch_norm.infer pooled");
}

}  // namespace

Variant pooled_forward() {
  return {.op = Op::batch_norm_forward,
          .name = "pooled",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .chain = pooling_after(Op::batch_norm_forward),
          .summary = "Moments as welford; a max pooling, and a ReLU before it, in the pass that writes.",
          .launch = forward,
          .workspace_bytes = forward_workspace};
}

Variant pooled_infer() {
  return {.op = Op::batch_norm_infer,
          .name = "pooled",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .chain = pooling_after(Op::batch_norm_infer),
          .summary = "A max pooling, and a ReLU before it, in the same pass, which writes nothing else.",
          .launch = infer};
}

}  // namespace warpscope::ops::batch_norm
