// global_average_pool, variant `naive`: the first rung on CUDA. forward: one thread per mean, which adds up its channel
// pixel by pixel; neighbouring threads read neighbouring channels. backward: one thread per element. Limits: none on
// the shape; a small batch of large images leaves most of the GPU idle in forward. Bound by memory. At most 32
// registers, no shared memory, no spills. Source: global_average_pool.cpp.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::global_average_pool {
namespace {

template <class Index, class T>
__global__ void global_average_pool_forward_naive(Index count, Index pixels, unsigned channels, float share,
                                                  const T* __restrict__ x, T* __restrict__ y) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const T* const first = x + e / channels * pixels * channels + e % channels;
    float sum = 0.0f;
    for (Index p = 0; p < pixels; ++p) sum += to_float(first[p * channels]);
    y[e] = from_float<T>(sum * share);
  }
}

template <class Index, class T>
__global__ void global_average_pool_backward_naive(Index count, Index pixels, unsigned channels, float share,
                                                   const T* __restrict__ dy, T* __restrict__ dx) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    const Index mean = i / channels / pixels * channels + i % channels;
    dx[i] = from_float<T>(to_float(dy[mean]) * share);
  }
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t means = s.batch * s.in_channels;
  const std::int64_t pixels = std::int64_t{s.height} * s.width;
  with_storage_and_index(call.precision, input_elements(s), [&]<class T, class Index>() {
    run_elements(call, means, global_average_pool_forward_naive<Index, T>, means, pixels, s.in_channels,
                 1.0f / static_cast<float>(pixels), Name::input, Name::output);
  });
}

void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = input_elements(s);
  const std::int64_t pixels = std::int64_t{s.height} * s.width;
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, global_average_pool_backward_naive<Index, T>, count, pixels, s.in_channels,
                 1.0f / static_cast<float>(pixels), Name::output_gradient, Name::input_gradient);
  });
}

}  // namespace

Variant naive_forward() {
  return naive_variant(Op::global_average_pool_forward, forward, "One thread per mean, pixel by pixel.");
}
Variant naive_backward() {
  return naive_variant(Op::global_average_pool_backward, backward, "One thread per element.");
}

}  // namespace warpscope::ops::global_average_pool
