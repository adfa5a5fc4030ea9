// layer_norm, variant `warp_shuffle`. Over `naive` it adds, of forward and backward_input: 8, 16 or 32 lanes of a
// warp take a position together, 16 bytes at a time, so that neighbouring lanes read neighbouring channels; up to
// 512 channels stay in registers, so that memory is read once; lanes exchange sums by shuffles. More channels
// take a block each, which reads them three times, mostly from its cache. An activation behind forward runs in it. Of
// backward_weights: blocks add spans of positions, a second kernel adds the spans (norm_sums.cuh). All sums are
// taken in an order that only the shape fixes, so the result is the same bits every time.
//
// Limits: none on the shape; channels that are no multiple of 16 bytes, and memory that does not start at one, are
// read an element at a time. Bound by memory. At most 77 registers, 4 KiB of shared memory, no spills; workspace:
// of backward_weights at most 2 KiB a channel. Source: layer_norm.cpp; normalization.h; J. Luitjens, "Faster parallel
// reductions on Kepler" (2014).

#include "gpu/ops/chains.h"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/layer_norm/layer_norm_rows.cuh"
#include "gpu/ops/norm_sums.cuh"
#include "gpu/ops/normalization.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::layer_norm {
namespace {

/// What kernels of forward read and write; x and y may be the same memory, hence no __restrict__ on them.
template <class T>
struct Forward {
  std::int64_t positions;
  int channels;
  const T* x;
  const T* gamma;
  const T* beta;
  T* y;
  float* means;
  float* factors;
  Activation activation;  ///< follows; a NaN stays
  T* kept;  ///< takes what it reads, where its derivative does and somebody else reads it; else nullptr
};

/// What the call writes of one number: of activations whose derivative reads their input, from that rounded.
template <class A, class T>
__device__ __forceinline__ float activated(float z) {
  return A::value(A::kReadsInput ? to_float(from_float<T>(z)) : z);
}

/// The same of backward_input; dy and dx may be the same memory.
template <class T>
struct Backward {
  std::int64_t positions;
  int channels;
  const T* x;
  const T* dy;
  const T* gamma;
  const float* means;
  const float* factors;
  T* dx;
};

template <class G, class T>
__global__ __launch_bounds__(kElementThreads) void layer_norm_forward_groups(Forward<T> call) {
  const std::int64_t p = std::int64_t{blockIdx.x} * G::kPositions + threadIdx.x / G::kLanes;
  const int channels = p < call.positions ? call.channels : 0;
  const auto count = static_cast<float>(call.channels);
  Row<G> rows[1];
  rows[0].load(call.x + p * call.channels, channels);
  Moments moments[1];
  center<G>(
      rows, {channels}, [count](float sum) { return sum / count; }, moments);
  const auto [mean, rest, factor] = moments[0];
  Row<G>& row = rows[0];
  Row<G> gamma;
  Row<G> beta;
  gamma.load(call.gamma, channels);
  beta.load(call.beta, channels);
#pragma unroll
  for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
    for (int i = 0; i < G::kWidth; ++i) {
      row.at[k][i] = (row.at[k][i] - rest) * factor * gamma.at[k][i] + beta.at[k][i];
    }
  }
  if (call.kept != nullptr) row.store(call.kept + p * call.channels, channels);
  with_activation(call.activation, [&]<class A>(A) {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) row.at[k][i] = activated<A, T>(row.at[k][i]);
    }
  });
  row.store(call.y + p * call.channels, channels);
  if (channels == 0 || threadIdx.x % G::kLanes != 0) return;
  call.means[p] = mean + rest;
  call.factors[p] = factor;
}

/// A block takes a position.
template <int Width, class T>
__global__ __launch_bounds__(kElementThreads) void layer_norm_forward_blocks(Forward<T> call) {
  const std::int64_t p = blockIdx.x;
  const T* x = call.x + p * call.channels;
  const auto count = static_cast<float>(call.channels);
  constexpr int kStep = static_cast<int>(kElementThreads) * Width;
  const int first = static_cast<int>(threadIdx.x) * Width;
  float values[Width];
  float sum[1] = {0.0f};
  for (int c = first; c < call.channels; c += kStep) {
    load_floats(x + c, values);
#pragma unroll
    for (int i = 0; i < Width; ++i) sum[0] += values[i];
  }
  block_sums(sum);
  const float mean = sum[0] / count;
  float left[2] = {0.0f, 0.0f};  // of the mean, and squares
  for (int c = first; c < call.channels; c += kStep) {
    load_floats(x + c, values);
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      left[0] += values[i] - mean;
      left[1] += (values[i] - mean) * (values[i] - mean);
    }
  }
  block_sums(left);
  const float rest = left[0] / count;
  const float factor = reciprocal_deviation(left[1] / count - rest * rest);
  for (int c = first; c < call.channels; c += kStep) {
    float gamma[Width];
    float beta[Width];
    load_floats(x + c, values);
    load_floats(call.gamma + c, gamma);
    load_floats(call.beta + c, beta);
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      values[i] = ((values[i] - mean) - rest) * factor * gamma[i] + beta[i];
    }
    if (call.kept != nullptr) store_floats(call.kept + p * call.channels + c, values);
    with_activation(call.activation, [&]<class A>(A) {
#pragma unroll
      for (int i = 0; i < Width; ++i) values[i] = activated<A, T>(values[i]);
    });
    store_floats(call.y + p * call.channels + c, values);
  }
  if (threadIdx.x != 0) return;
  call.means[p] = mean + rest;
  call.factors[p] = factor;
}

template <class G, class T>
__global__ __launch_bounds__(kElementThreads) void layer_norm_backward_input_groups(Backward<T> call) {
  const std::int64_t p = std::int64_t{blockIdx.x} * G::kPositions + threadIdx.x / G::kLanes;
  const int channels = p < call.positions ? call.channels : 0;
  const auto count = static_cast<float>(call.channels);
  const float mean = channels > 0 ? call.means[p] : 0.0f;
  const float factor = channels > 0 ? call.factors[p] : 0.0f;
  Row<G> normal;
  Row<G> gradient;
  Row<G> gamma;
  normal.load(call.x + p * call.channels, channels);
  gradient.load(call.dy + p * call.channels, channels);
  gamma.load(call.gamma, channels);
  float sums[2] = {0.0f, 0.0f};
#pragma unroll
  for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
    for (int i = 0; i < G::kWidth; ++i) {
      normal.at[k][i] = (normal.at[k][i] - mean) * factor;  // its gradient is 0 where there is no channel
      gradient.at[k][i] *= gamma.at[k][i];
      sums[0] += gradient.at[k][i];
      sums[1] += gradient.at[k][i] * normal.at[k][i];
    }
  }
  group_sums<G>(sums);
  const float share = sums[0] / count;
  const float products = sums[1] / count;
#pragma unroll
  for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
    for (int i = 0; i < G::kWidth; ++i) {
      gradient.at[k][i] = factor * (gradient.at[k][i] - share - normal.at[k][i] * products);
    }
  }
  gradient.store(call.dx + p * call.channels, channels);
}

/// A block takes a position.
template <int Width, class T>
__global__ __launch_bounds__(kElementThreads) void layer_norm_backward_input_blocks(Backward<T> call) {
  const std::int64_t p = blockIdx.x;
  const auto count = static_cast<float>(call.channels);
  const float mean = call.means[p];
  const float factor = call.factors[p];
  constexpr int kStep = static_cast<int>(kElementThreads) * Width;
  const int first = static_cast<int>(threadIdx.x) * Width;
  float normal[Width];
  float gradient[Width];
  const auto load = [&](int c) {
    float gamma[Width];
    load_floats(call.x + p * call.channels + c, normal);
    load_floats(call.dy + p * call.channels + c, gradient);
    load_floats(call.gamma + c, gamma);
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      normal[i] = (normal[i] - mean) * factor;
      gradient[i] *= gamma[i];
    }
  };
  float sums[2] = {0.0f, 0.0f};
  for (int c = first; c < call.channels; c += kStep) {
    load(c);
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      sums[0] += gradient[i];
      sums[1] += gradient[i] * normal[i];
    }
  }
  block_sums(sums);
  const float share = sums[0] / count;
  const float products = sums[1] / count;
  for (int c = first; c < call.channels; c += kStep) {
    load(c);
#pragma unroll
    for (int i = 0; i < Width; ++i) gradient[i] = factor * (gradient[i] - share - normal[i] * products);
    store_floats(call.dx + p * call.channels + c, gradient);
  }
}

/// Calls groups(Group{}, blocks) or, with more channels than registers hold, rows(width{}, blocks).
template <class T, class Groups, class Rows>
void with_lanes(std::int64_t positions, int channels, bool aligned, Groups groups, Rows rows) {
  with_column_width<T>(channels, aligned, [&](auto width) {
    if (channels > kMostInRegisters) return rows(width, static_cast<unsigned>(positions));
    with_group<decltype(width)::value>(channels, [&](auto group) {
      constexpr auto kPositions = static_cast<std::int64_t>(decltype(group)::kPositions);
      groups(group, static_cast<unsigned>((positions + kPositions - 1) / kPositions));
    });
  });
}

void forward(const OpCall& call) {
  const std::int64_t positions = sizes::pixels(call.shape);
  const int channels = call.shape.in_channels;
  auto* statistics = call.operand<float>(Name::statistics);
  with_storage(call.precision, [&]<class T>(T) {
    const Forward<T> all{positions,
                         channels,
                         call.operand<const T>(Name::input),
                         call.operand<const T>(Name::weights),
                         call.operand<const T>(Name::bias),
                         call.operand<T>(Name::output),
                         statistics,
                         statistics + positions,
                         activation_of(call.shape.covered),
                         call.operand<T>(Name::unactivated)};
    with_lanes<T>(
        positions, channels, aligned_16(all.x, all.gamma, all.beta, all.y, all.kept),
        [&](auto group, unsigned blocks) {
          run_kernel(call, {blocks}, layer_norm_forward_groups<decltype(group), T>, all);
        },
        [&](auto width, unsigned blocks) {
          run_kernel(call, {blocks}, layer_norm_forward_blocks<decltype(width)::value, T>, all);
        });
  });
}

void backward_input(const OpCall& call) {
  const std::int64_t positions = sizes::pixels(call.shape);
  const int channels = call.shape.in_channels;
  const auto* statistics = call.operand<const float>(Name::statistics);
  with_storage(call.precision, [&]<class T>(T) {
    const Backward<T> all{positions,
                          channels,
                          call.operand<const T>(Name::input),
                          call.operand<const T>(Name::output_gradient),
                          call.operand<const T>(Name::weights),
                          statistics,
                          statistics + positions,
                          call.operand<T>(Name::input_gradient)};
    with_lanes<T>(
        positions, channels, aligned_16(all.x, all.dy, all.gamma, all.dx),
        [&](auto group, unsigned blocks) {
          run_kernel(call, {blocks}, layer_norm_backward_input_groups<decltype(group), T>, all);
        },
        [&]<int kWidth>(std::integral_constant<int, kWidth>, unsigned blocks) {
          run_kernel(call, {blocks}, layer_norm_backward_input_blocks<kWidth, T>, all);
        });
  });
}

void backward_weights(const OpCall& call) {
  const auto* statistics = call.operand<const float>(Name::statistics);
  const OfPositions moments{statistics, statistics + sizes::pixels(call.shape)};
  with_storage(call.precision, [&]<class T>(T) { norm_gradients<T>(call, moments); });
}

std::size_t backward_weights_workspace(const OpShape& s, core::Precision) {
  return norm_gradients_workspace(sizes::pixels(s), s.in_channels);
}

}  // namespace

Variant warp_shuffle_forward() {
  return cuda_variant(
      Op::layer_norm_forward, "warp_shuffle", forward,
      "Up to a warp per position holds its channels in registers, sums go by shuffles; an "
      "activation behind it runs in the same pass.",
      {.chain = own_and_activation(Op::layer_norm_forward), .stored_for_others = {Name::unactivated}});
}
Variant warp_shuffle_backward_input() {
  return cuda_variant(Op::layer_norm_backward_input, "warp_shuffle", backward_input,
                      "Up to a warp per position holds its channels in registers, sums go by shuffles.");
}
Variant warp_shuffle_backward_weights() {
  return cuda_variant(
      Op::layer_norm_backward_weights, "warp_shuffle", backward_weights,
      "Sums in registers from 16-byte reads, added up by warp shuffles and a second pass over blocks, "
      "in a fixed order.",
      {.workspace_bytes = backward_weights_workspace});
}

}  // namespace warpscope::ops::layer_norm
