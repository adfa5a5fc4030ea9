// embedding, variant `naive`: the first rung on CUDA. forward: one thread per element of y. backward_weights: one
// thread per element of dw, which walks over all characters and adds the gradients of its own, in a fixed order.
// Limits: none on the shape; backward_weights reads every character V D times. No shared memory, no spills. Source:
// embedding.cpp.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/embedding/embedding.h"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/sizes.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/symbols.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::embedding {
namespace {

template <class Index, class T>
__global__ void embedding_forward_naive(Index count, int rows, int channels, const T* __restrict__ x,
                                        const T* __restrict__ w, T* __restrict__ y) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    const Index pixel = i / static_cast<unsigned>(channels);
    const auto channel = static_cast<int>(i - pixel * static_cast<unsigned>(channels));
    y[i] = w[symbol_of(to_float(x[pixel]), rows - 1) * channels + channel];
  }
}

template <class T>
__global__ void embedding_backward_weights_naive(unsigned count, int rows, int channels, std::int64_t pixels,
                                                 const T* __restrict__ x, const T* __restrict__ dy,
                                                 float* __restrict__ dw) {
  for (unsigned e = first_element<unsigned>(); e < count; e += element_stride<unsigned>()) {
    const auto row = static_cast<int>(e / static_cast<unsigned>(channels));
    const T* gradient = dy + e % static_cast<unsigned>(channels);
    float sum = 0.0f;
    for (std::int64_t i = 0; i < pixels; ++i) {
      if (symbol_of(to_float(x[i]), rows - 1) == row) sum += to_float(gradient[i * channels]);
    }
    dw[e] = sum;
  }
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = sizes::output(s);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, embedding_forward_naive<Index, T>, count, s.count, s.out_channels, Name::input,
                 Name::weights, Name::output);
  });
}

void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = table(s);
  with_storage(call.precision, [&]<class T>(T) {
    run_elements(call, count, embedding_backward_weights_naive<T>, count, s.count, s.out_channels,
                 sizes::pixels(s), Name::input, Name::output_gradient, Name::weights_gradient);
  });
}

}  // namespace

Variant naive_forward() {
  return naive_variant(Op::embedding_forward, forward, "One thread per element.");
}
Variant naive_backward_weights() {
  return cuda_variant(Op::embedding_backward_weights, "naive", backward_weights,
                      "One thread per element of the table, which looks at every character.",
                      {.presets = {{"naive"}, {"atomic_free"}}});
}

}  // namespace warpscope::ops::embedding
