// embedding.backward_weights, variant `atomic`: one thread per element of dy, which adds it to the row of its character
// by an atomic addition in global memory. Over `naive` it adds that each character is looked at once. Not
// deterministic: the order of the additions, and so their rounding, differs from run to run. Limits: none on the shape;
// where few characters make up most of a text, their rows are what everybody waits for. No shared memory, no spills.
// Source: embedding.cpp; "CUDA C++ Programming Guide", atomic functions.

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
__global__ void embedding_backward_weights_atomic(Index count, int rows, int channels,
                                                  const T* __restrict__ x, const T* __restrict__ dy,
                                                  float* __restrict__ dw) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    const Index pixel = i / static_cast<unsigned>(channels);
    const auto channel = static_cast<int>(i - pixel * static_cast<unsigned>(channels));
    atomicAdd(dw + symbol_of(to_float(x[pixel]), rows - 1) * channels + channel, to_float(dy[i]));
  }
}

void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = sizes::output(s);
  clear_floats(call, Name::weights_gradient, table(s));
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, embedding_backward_weights_atomic<Index, T>, count, s.count, s.out_channels,
                 Name::input, Name::output_gradient, Name::weights_gradient);
  });
}

}  // namespace

Variant atomic_backward_weights() {
  return cuda_variant(Op::embedding_backward_weights, "atomic", backward_weights,
                      "One thread per gradient, added to its row by atomics: not the same bits every time.",
                      {.deterministic = false, .presets = {{"atomic"}}});
}

}  // namespace warpscope::ops::embedding
