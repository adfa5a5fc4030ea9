// one_hot, variant `naive`: the first rung on CUDA. One thread per element of y, each with a division for its character
// and a read of it. Limits: none on the shape. No shared memory, no spills. Source: one_hot.cpp.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/sizes.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/symbols.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::one_hot {
namespace {

template <class Index, class T>
__global__ void one_hot_forward_naive(Index count, int channels, const T* __restrict__ x, T* __restrict__ y) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    const auto channel = static_cast<int>(i % static_cast<unsigned>(channels));
    const int symbol = symbol_of(to_float(x[i / static_cast<unsigned>(channels)]), channels);
    y[i] = from_float<T>(symbol == channel + 1 ? 1.0f : 0.0f);
  }
}

void forward(const OpCall& call) {
  const std::int64_t count = sizes::output(call.shape);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, one_hot_forward_naive<Index, T>, count, call.shape.out_channels, Name::input,
                 Name::output);
  });
}

}  // namespace

Variant naive_forward() {
  return naive_variant(Op::one_hot_forward, forward, "One thread per element.");
}

}  // namespace warpscope::ops::one_hot
