// batch_norm.backward and its pieces, variant `warp_shuffle`: over `naive` it adds 16-byte reads, sums in registers
// that shuffles and a second pass over spans of positions add up in an order that only the shape fixes
// (norm_sums.cuh), and that a thread keeps its channels while it writes. Limits: none on the shape; channels that are
// no multiple of 16 bytes, and memory that does not start at one, go an element at a time. Bound by memory: x and dy
// are read twice. At most 72 registers, 4 KiB of shared memory, no spills; workspace: at most 2 KiB a channel. Source:
// batch_norm.cpp; columns.cuh; M. Harris, "Faster Parallel Reductions on Kepler" (2014).

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/norm_sums.cuh"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {
namespace {

/// The sums over the batch.
struct Sums {
  const float* dgamma;
  const float* dbeta;
};

// dy and dx may be the same memory, hence no __restrict__ on them.
template <class T, int V>
__global__ __launch_bounds__(kColumnThreads) void batch_norm_backward_columns(
    Columns columns, const T* __restrict__ x, const T* dy, const T* __restrict__ gamma, OfChannels statistics,
    Sums sums, T* dx) {
  const ColumnWalk<V> walk(columns);
  if (!walk.inside) return;
  const OfChannels::Normal<V> normal(statistics, walk.channel);
  const auto count = static_cast<float>(columns.positions);
  float scale[V];
  float products[V];
  float share[V];
#pragma unroll
  for (int j = 0; j < V; ++j) {
    scale[j] = normal.factor[j] * to_float(gamma[walk.channel + j]);
    products[j] = sums.dgamma[walk.channel + j] / count;
    share[j] = sums.dbeta[walk.channel + j] / count;
  }
#pragma unroll 2
  for (std::int64_t p = walk.first; p < walk.end; p += walk.step) {
    const std::int64_t place = p * columns.channels + walk.channel;
    float values[V];
    float gradients[V];
    load_floats_once(x + place, values);
    load_floats_once(dy + place, gradients);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      gradients[j] = scale[j] * (gradients[j] - share[j] - normal(values[j], j) * products[j]);
    }
    store_floats(dx + place, gradients);
  }
}

OfChannels moments_of(const OpCall& call) {
  const auto* statistics = call.operand<const float>(Name::statistics);
  return {statistics, statistics + call.shape.in_channels};
}

void backward_sums(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) { norm_gradients<T>(call, moments_of(call)); });
}

void backward_input(const OpCall& call) {
  const std::int64_t positions = sizes::pixels(call.shape);
  const int channels = call.shape.in_channels;
  const OfChannels moments = moments_of(call);
  const Sums sums{call.operand<const float>(Name::weights_gradient),
                  call.operand<const float>(Name::bias_gradient)};
  with_storage(call.precision, [&]<class T>(T) {
    const T* x = call.operand<const T>(Name::input);
    const T* dy = call.operand<const T>(Name::output_gradient);
    T* dx = call.operand<T>(Name::input_gradient);
    with_column_width<T>(channels, aligned_16(x, dy, dx), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const ColumnGrid grid = column_grid<kWidth>(positions, channels, written_spans(positions));
      run_kernel(call, {grid.blocks, kColumnThreads}, batch_norm_backward_columns<T, kWidth>, grid.columns, x,
                 dy, Name::weights, moments, sums, dx);
    });
  });
}

void backward(const OpCall& call) {
  backward_sums(call);
  backward_input(call);
}

std::size_t backward_workspace(const OpShape& s, core::Precision) {
  return norm_gradients_workspace(sizes::pixels(s), s.in_channels);
}

}  // namespace

Variant warp_shuffle_backward() {
  return cuda_variant(
      Op::batch_norm_backward, "warp_shuffle", backward,
      "Sums in registers from 16-byte reads, added up by warp shuffles and a second pass over blocks, "
      "in a fixed order.",
      {.workspace_bytes = backward_workspace});
}
Variant warp_shuffle_backward_sums() {
  return cuda_variant(
      Op::batch_norm_backward_sums, "warp_shuffle", backward_sums,
      "Sums in registers from 16-byte reads, added up by warp shuffles and a second pass over "
      "blocks, in a fixed order.",
      {.workspace_bytes = backward_workspace});
}
Variant warp_shuffle_backward_input() {
  return cuda_variant(Op::batch_norm_backward_input, "warp_shuffle", backward_input,
                      "16 bytes at a time; a thread keeps its channels.");
}

}  // namespace warpscope::ops::batch_norm
