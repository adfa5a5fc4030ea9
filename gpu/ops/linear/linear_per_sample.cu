// linear.backward_weights, variant `per_sample`: each sample has a gradient buffer of its own, and a second
// kernel adds the buffers. Over `atomic` it adds that no two threads write to one address, so the result is
// deterministic; it pays with memory: every product is written once and read once. Limits: a workspace of 4
// bytes per sample and weight (256 MB for 8192 x 128 features at batch 64), refused above 2 GiB. Bound by
// memory: 8 bytes a product. At most 32 registers, no shared memory, no spills. Source: linear.cpp; per-sample
// gradients: I. Goodfellow, "Efficient per-example gradient computations" (2015), which says how to do
// without them.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {
namespace {

constexpr std::size_t kMostWorkspace = std::size_t{2} << 30;

template <class Index, class T>
__global__ void linear_gradients_per_sample(Index count, unsigned inputs, unsigned outputs,
                                            const T* __restrict__ x, const T* __restrict__ dy,
                                            float* __restrict__ gradients) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const Index row = e / inputs;  // of all samples' (sample, output) pairs
    gradients[e] = to_float(dy[row]) * to_float(x[row / outputs * inputs + e % inputs]);
  }
}

template <class Index>
__global__ void linear_sum_per_sample(Index weights, unsigned batch, const float* __restrict__ gradients,
                                      float* __restrict__ dw) {
  for (Index e = first_element<Index>(); e < weights; e += element_stride<Index>()) {
    const float* gradient = gradients + e;
    float sum = 0.0f;
    for (unsigned n = 0; n < batch; ++n) {
      sum += *gradient;
      gradient += weights;
    }
    dw[e] = sum;
  }
}

std::int64_t weights_of(const OpShape& s) {
  return std::int64_t{s.in_channels} * s.out_channels;
}

std::size_t workspace(const OpShape& s, core::Precision) {
  return static_cast<std::size_t>(s.batch * weights_of(s)) * sizeof(float);
}

std::string refuses(const OpShape& s) {
  if (workspace(s, core::Precision::fp32) <= kMostWorkspace) return "";
  return "a gradient for each sample would take more than 2 GiB; a smaller batch or another variant works";
}

void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t weights = weights_of(s);
  const std::int64_t count = s.batch * weights;
  auto* gradients = static_cast<float*>(call.workspace);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_kernel(call, "gradients of the samples", {element_blocks(count)},
               linear_gradients_per_sample<Index, T>, count, s.in_channels, s.out_channels, Name::input,
               Name::output_gradient, gradients);
  });
  with_index(count, [&]<class Index>(Index) {
    run_kernel(call, "sum over the samples", {element_blocks(weights)}, linear_sum_per_sample<Index>, weights,
               s.batch, gradients, Name::weights_gradient);
  });
}

}  // namespace

Variant per_sample_backward_weights() {
  return cuda_variant(
      Op::linear_backward_weights, "per_sample", backward_weights,
      "A gradient buffer for each sample, then a sum over the samples: no atomics, much memory.",
      {.precisions = {core::Precision::fp32, core::Precision::fp16, core::Precision::bf16},
       .workspace_bytes = workspace,
       .refuses = refuses});
}

}  // namespace warpscope::ops::linear
