// bias.forward, variant `naive`: the first rung on CUDA. One thread per element, which finds its channel by a
// division. Limits: none on the shape. Bound by memory: 8 bytes an element, 4 in 16-bit precisions. At most
// 22 registers, no shared memory, no spills. Source: bias.cpp.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::bias {
namespace {

// Input and output may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void bias_forward_naive(Index count, unsigned channels, const T* x, const T* __restrict__ bias,
                                   T* y) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>())
    y[i] = from_float<T>(to_float(x[i]) + to_float(bias[i % channels]));
}

void forward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, bias_forward_naive<Index, T>, count, call.shape.in_channels, Name::input,
                 Name::bias, Name::output);
  });
}

}  // namespace

Variant naive_forward() {
  return naive_variant(Op::bias_forward, forward, "One thread per element.");
}

}  // namespace warpscope::ops::bias
