// linear, variant `naive`: the first rung on CUDA. One thread per element of the result, which reads a row or
// column of each matrix and adds in a register. forward reads the weights across their rows, so that
// neighbouring threads read far apart. Limits: none on the shape; every product reads both of its factors
// from memory or a cache. At most 32 registers, no shared memory, no spills. Source: linear.cpp.

#include <algorithm>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {
namespace {

template <class Index, class T>
__global__ void linear_forward_naive(Index count, unsigned inputs, unsigned outputs, const T* __restrict__ x,
                                     const T* __restrict__ w, T* __restrict__ y) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const T* row = x + e / outputs * inputs;
    const T* weights = w + e % outputs * inputs;
    float sum = 0.0f;
    for (unsigned i = 0; i < inputs; ++i) sum += to_float(row[i]) * to_float(weights[i]);
    y[e] = from_float<T>(sum);
  }
}

template <class Index, class T>
__global__ void linear_backward_input_naive(Index count, unsigned inputs, unsigned outputs,
                                            const T* __restrict__ dy, const T* __restrict__ w,
                                            T* __restrict__ dx) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const T* row = dy + e / inputs * outputs;
    const T* weights = w + e % inputs;
    float sum = 0.0f;
    for (unsigned o = 0; o < outputs; ++o) {
      sum += to_float(row[o]) * to_float(*weights);
      weights += inputs;
    }
    dx[e] = from_float<T>(sum);
  }
}

template <class Index, class T>
__global__ void linear_backward_weights_naive(Index count, unsigned batch, unsigned inputs, unsigned outputs,
                                              const T* __restrict__ x, const T* __restrict__ dy,
                                              float* __restrict__ dw) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const T* input = x + e % inputs;
    const T* gradient = dy + e / inputs;
    float sum = 0.0f;
    for (unsigned n = 0; n < batch; ++n) {
      sum += to_float(*gradient) * to_float(*input);
      input += inputs;
      gradient += outputs;
    }
    dw[e] = sum;
  }
}

template <class Index, class T>
__global__ void linear_backward_bias_naive(Index outputs, unsigned batch, const T* __restrict__ dy,
                                           float* __restrict__ db) {
  for (Index o = first_element<Index>(); o < outputs; o += element_stride<Index>()) {
    const T* gradient = dy + o;
    float sum = 0.0f;
    for (unsigned n = 0; n < batch; ++n) {
      sum += to_float(*gradient);
      gradient += outputs;
    }
    db[o] = sum;
  }
}

/// Elements of the largest of the op's matrices.
std::int64_t largest(const OpShape& s) {
  return std::max(
      {s.batch * s.in_channels, s.batch * s.out_channels, std::int64_t{s.in_channels} * s.out_channels});
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = s.batch * s.out_channels;
  with_storage_and_index(call.precision, largest(call.shape), [&]<class T, class Index>() {
    run_elements(call, count, linear_forward_naive<Index, T>, count, s.in_channels, s.out_channels,
                 Name::input, Name::weights, Name::output);
  });
}

void backward_input(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = s.batch * s.in_channels;
  with_storage_and_index(call.precision, largest(call.shape), [&]<class T, class Index>() {
    run_elements(call, count, linear_backward_input_naive<Index, T>, count, s.in_channels, s.out_channels,
                 Name::output_gradient, Name::weights, Name::input_gradient);
  });
}

void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = std::int64_t{s.in_channels} * s.out_channels;
  with_storage_and_index(call.precision, largest(call.shape), [&]<class T, class Index>() {
    run_elements(call, count, linear_backward_weights_naive<Index, T>, count, s.batch, s.in_channels,
                 s.out_channels, Name::input, Name::output_gradient, Name::weights_gradient);
  });
}

void backward_bias(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage_and_index(call.precision, largest(call.shape), [&]<class T, class Index>() {
    run_elements(call, s.out_channels, linear_backward_bias_naive<Index, T>, s.out_channels, s.batch,
                 Name::output_gradient, Name::bias_gradient);
  });
}

Variant naive(Op op, void (*launch)(const OpCall&), const char* summary,
              std::vector<core::Precision> precisions = {core::Precision::fp32, core::Precision::fp16,
                                                         core::Precision::bf16}) {
  return cuda_variant(
      op, "naive", launch, summary,
      {.precisions = std::move(precisions), .presets = {{"naive"}, {"atomic"}, {"atomic_free"}}});
}

}  // namespace

Variant naive_forward() {
  return naive(Op::linear_forward, forward, "One thread per output, which adds in a register.");
}
Variant naive_backward_input() {
  return naive(Op::linear_backward_input, backward_input,
               "One thread per element of the input's gradient, which adds in a register.");
}
Variant naive_backward_weights() {
  return naive(Op::linear_backward_weights, backward_weights,
               "One thread per weight, which adds the batch in a register.");
}
Variant naive_backward_bias() {
  return naive(Op::linear_backward_bias, backward_bias,
               "One thread per bias, which adds the batch in a register.", {});
}

}  // namespace warpscope::ops::linear
