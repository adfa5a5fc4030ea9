// global_average_pool.backward, variant `vectorized`: a thread writes 16 bytes of neighbouring channels of a pixel, 4
// in FP32 and 8 in 16 bits. Over `naive` it adds accesses of 16 bytes, that the pixel is found once for all of them,
// and the derivative of the activation before the pooling in the same pass.
// Limits: none on the shape; channels that are no multiple of 16 bytes, and tensors that do not start at one, are taken
// one at a time. Bound by memory. At most 40 registers, no shared memory, no spills. Source:
// global_average_pool.cpp; CUDA C++ Programming Guide, "Device Memory Accesses".

#include "gpu/ops/chains.h"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::global_average_pool {
namespace {

/// `groups` of V channels in each pixel. `read`: what the derivative reads, where there is one.
template <int V, class Index, class T>
__global__ void global_average_pool_backward_vectorized(Index count, Index pixels, unsigned groups,
                                                        float share, Activation derivative,
                                                        const T* __restrict__ dy, const T* __restrict__ read,
                                                        T* __restrict__ dx) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const Index means = e / groups / pixels * groups + e % groups;
    float values[V];
    load_floats(dy + means * V, values);
#pragma unroll
    for (int k = 0; k < V; ++k) values[k] *= share;
    with_activation(derivative, [&]<class A>(A) {
      float beside[V];
      load_floats(read + e * V, beside);
#pragma unroll
      for (int k = 0; k < V; ++k) values[k] = A::gradient(values[k], beside[k]);
    });
    store_floats(dx + e * V, values);
  }
}

template <class T, int V>
void launch(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t pixels = std::int64_t{s.height} * s.width;
  const std::int64_t count = input_elements(s) / V;
  with_index(input_elements(s), [&]<class Index>(Index) {
    run_elements(call, count, global_average_pool_backward_vectorized<V, Index, T>, count, pixels,
                 s.in_channels / V, 1.0f / static_cast<float>(pixels), derivative_of(s.covered),
                 Name::output_gradient, derivative_operand(call), Name::input_gradient);
  });
}

void backward(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    const bool wide =
        call.shape.in_channels % kWide<T> == 0 &&
        aligned_16(call.operand<T>(Name::output_gradient), static_cast<const T*>(derivative_operand(call)),
                   call.operand<T>(Name::input_gradient));
    wide ? launch<T, kWide<T>>(call) : launch<T, 1>(call);
  });
}

/// global_average_pool.backward (relu.backward | gelu.backward)?
std::vector<Link> backward_chain() {
  std::vector<Link> chain{
      {.op = Op::global_average_pool_backward, .renames = {{Name::input_gradient, Name::unmasked_gradient}}}};
  for (Link& each : derivative_after(input_shape)) chain.push_back(std::move(each));
  return chain;
}

}  // namespace

Variant vectorized_backward() {
  return cuda_variant(
      Op::global_average_pool_backward, "vectorized", backward,
      "Several channels a thread, in accesses of 16 bytes; the derivative before it in the same pass.",
      {.chain = backward_chain()});
}

}  // namespace warpscope::ops::global_average_pool
