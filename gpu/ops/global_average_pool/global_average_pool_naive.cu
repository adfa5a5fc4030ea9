// global_average_pool, variant `naive`: the first rung on CUDA. forward: one thread per mean, which adds up its channel
// pixel by pixel; neighbouring threads read neighbouring channels. backward: one thread per element. Limits: none on
// the shape; a small batch of large images leaves most of the GPU idle in forward. Bound by memory. At most 32
// registers, no shared memory, no spills. Source: global_average_pool.cpp.

#include "gpu/core/cuda.h"
#include "gpu/ops/elementwise.cuh"
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
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    with_index(input_elements(s), [&](auto index) {
      using Index = decltype(index);
      global_average_pool_forward_naive<Index, T>
          <<<element_blocks(means), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              static_cast<Index>(means), static_cast<Index>(pixels), static_cast<unsigned>(s.in_channels),
              1.0f / static_cast<float>(pixels), call.operand<const T>(Name::input),
              call.operand<T>(Name::output));
    });
  });
  core::check_launch("global_average_pool.forward naive");
}

void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = input_elements(s);
  const std::int64_t pixels = std::int64_t{s.height} * s.width;
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      global_average_pool_backward_naive<Index, T>
          <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              static_cast<Index>(count), static_cast<Index>(pixels), static_cast<unsigned>(s.in_channels),
              1.0f / static_cast<float>(pixels), call.operand<const T>(Name::output_gradient),
              call.operand<T>(Name::input_gradient));
    });
  });
  core::check_launch("global_average_pool.backward naive");
}

}  // namespace

Variant naive_forward() {
  return naive_variant(Op::global_average_pool_forward, forward, "One thread per mean, pixel by pixel.");
}
Variant naive_backward() {
  return naive_variant(Op::global_average_pool_backward, backward, "One thread per element.");
}

}  // namespace warpscope::ops::global_average_pool
