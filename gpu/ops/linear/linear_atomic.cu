// linear, variant `atomic`: the scatter form of the gradients. backward_input: a thread per output gradient
// adds to all of its inputs' gradients; backward_weights: a thread per sample and weight adds its one
// product; backward_bias: a thread per output gradient adds to its bias. Over `naive` it adds threads where
// the results are few, and shows what their quarrel over the same addresses costs. Limits: not deterministic,
// since atomics add in any order; results are cleared first; backward_input in FP32 only, since it would
// have to add in 16 bits. At most 32 registers, no shared memory, no spills. Source: linear.cpp; atomicAdd:
// "CUDA C++ Programming Guide", atomic functions.

#include <algorithm>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {
namespace {

template <class Index>
__global__ void linear_backward_input_atomic(Index count, unsigned inputs, unsigned outputs,
                                             const float* __restrict__ dy, const float* __restrict__ w,
                                             float* dx) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const float gradient = dy[e];
    const float* weights = w + e % outputs * inputs;
    float* row = dx + e / outputs * inputs;
    for (unsigned i = 0; i < inputs; ++i) atomicAdd(row + i, gradient * weights[i]);
  }
}

template <class Index, class T>
__global__ void linear_backward_weights_atomic(Index count, unsigned inputs, unsigned outputs,
                                               const T* __restrict__ x, const T* __restrict__ dy, float* dw) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const Index row = e / inputs;  // of all samples' (sample, output) pairs
    const Index i = e % inputs;
    const float product = to_float(dy[row]) * to_float(x[row / outputs * inputs + i]);
    atomicAdd(dw + row % outputs * inputs + i, product);
  }
}

template <class Index, class T>
__global__ void linear_backward_bias_atomic(Index count, unsigned outputs, const T* __restrict__ dy,
                                            float* db) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    atomicAdd(db + e % outputs, to_float(dy[e]));
  }
}

void backward_input(const OpCall& call) {
  const OpShape& s = call.shape;
  clear_floats(call, Name::input_gradient, s.batch * s.in_channels);
  const std::int64_t count = s.batch * s.out_channels;
  const std::int64_t largest =
      std::max({count, s.batch * s.in_channels, std::int64_t{s.in_channels} * s.out_channels});
  with_index(largest, [&]<class Index>(Index) {
    run_elements(call, count, linear_backward_input_atomic<Index>, count, s.in_channels, s.out_channels,
                 Name::output_gradient, Name::weights, Name::input_gradient);
  });
}

void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t weights = std::int64_t{s.in_channels} * s.out_channels;
  clear_floats(call, Name::weights_gradient, weights);
  const std::int64_t count = s.batch * weights;
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, linear_backward_weights_atomic<Index, T>, count, s.in_channels, s.out_channels,
                 Name::input, Name::output_gradient, Name::weights_gradient);
  });
}

void backward_bias(const OpCall& call) {
  const OpShape& s = call.shape;
  clear_floats(call, Name::bias_gradient, s.out_channels);
  const std::int64_t count = s.batch * s.out_channels;
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, linear_backward_bias_atomic<Index, T>, count, s.out_channels,
                 Name::output_gradient, Name::bias_gradient);
  });
}

Variant atomic(Op op, void (*launch)(const OpCall&), std::vector<core::Precision> precisions,
               const char* summary) {
  return cuda_variant(op, "atomic", launch, summary,
                      {.precisions = std::move(precisions), .deterministic = false, .presets = {{"atomic"}}});
}

}  // namespace

Variant atomic_backward_input() {
  return atomic(Op::linear_backward_input, backward_input, {core::Precision::fp32},
                "A thread per output gradient scatters to its inputs with atomic additions.");
}
Variant atomic_backward_weights() {
  return atomic(Op::linear_backward_weights, backward_weights,
                {core::Precision::fp32, core::Precision::fp16, core::Precision::bf16},
                "A thread per sample and weight adds its product with an atomic addition.");
}
Variant atomic_backward_bias() {
  return atomic(Op::linear_backward_bias, backward_bias, {},
                "A thread per output gradient adds to its bias with an atomic addition.");
}

}  // namespace warpscope::ops::linear
