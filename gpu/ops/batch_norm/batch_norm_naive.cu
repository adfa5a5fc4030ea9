// batch_norm, variant `naive`: the first rung on CUDA. One thread per channel adds its positions in a register,
// twice: for the mean, and for what is left of it and the squares. Then one thread per element writes. Limits: none
// on the shape; few channels leave most of the GPU idle in the sums. At most 40 registers, no shared memory, no
// spills; workspace: of forward 4 bytes a channel. Source: batch_norm.cpp; normalization.h.

#include "gpu/ops/batch_norm/track.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/normalization.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {
namespace {

/// The moments of one channel; `rest` is what rounding took from the mean.
struct ChannelMoments {
  float mean;
  float rest;
  float variance;
};

template <class T>
__device__ ChannelMoments moments_of_channel(std::int64_t positions, int channels, int c,
                                             const T* __restrict__ x) {
  const auto count = static_cast<float>(positions);
  float sum = 0.0f;
  for (std::int64_t p = 0; p < positions; ++p) sum += to_float(x[p * channels + c]);
  const float rough = sum / count;
  float left = 0.0f;
  float squares = 0.0f;
  for (std::int64_t p = 0; p < positions; ++p) {
    const float centred = to_float(x[p * channels + c]) - rough;
    left += centred;
    squares += centred * centred;
  }
  const float rest = left / count;
  const float mean = rough + rest;
  return {mean, (rough - mean) + rest, squares / count - rest * rest};
}

/// means, factors; rests: what rounding took from the means.
template <class T>
__global__ void batch_norm_moments_naive(std::int64_t positions, int channels, const T* __restrict__ x,
                                         float* __restrict__ means, float* __restrict__ factors,
                                         float* __restrict__ rests) {
  for (int c = first_element<int>(); c < channels; c += element_stride<int>()) {
    const ChannelMoments found = moments_of_channel(positions, channels, c, x);
    means[c] = found.mean;
    factors[c] = reciprocal_deviation(found.variance);
    rests[c] = found.rest;
  }
}

template <class T>
__global__ void batch_norm_plain_moments_naive(std::int64_t positions, int channels, const T* __restrict__ x,
                                               float* __restrict__ means, float* __restrict__ variances) {
  for (int c = first_element<int>(); c < channels; c += element_stride<int>()) {
    const ChannelMoments found = moments_of_channel(positions, channels, c, x);
    means[c] = found.mean;
    variances[c] = found.variance < 0.0f ? 0.0f : found.variance;
  }
}

// Input and output may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void batch_norm_forward_naive(Index count, unsigned channels, const T* x,
                                         const T* __restrict__ gamma, const T* __restrict__ beta,
                                         const float* __restrict__ means, const float* __restrict__ factors,
                                         const float* __restrict__ rests, T* y) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    const auto c = static_cast<unsigned>(i % channels);
    const float centred = (to_float(x[i]) - means[c]) - rests[c];
    y[i] = from_float<T>(centred * factors[c] * to_float(gamma[c]) + to_float(beta[c]));
  }
}

template <class Index, class T>
__global__ void batch_norm_infer_naive(Index count, unsigned channels, const T* x,
                                       const T* __restrict__ gamma, const T* __restrict__ beta,
                                       const float* __restrict__ means, const float* __restrict__ variances,
                                       T* y) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    const auto c = static_cast<unsigned>(i % channels);
    const float normal = (to_float(x[i]) - means[c]) * reciprocal_deviation(variances[c]);
    y[i] = from_float<T>(normal * to_float(gamma[c]) + to_float(beta[c]));
  }
}

template <class T>
__global__ void batch_norm_sums_naive(std::int64_t positions, int channels, const T* __restrict__ x,
                                      const T* __restrict__ dy, const float* __restrict__ means,
                                      const float* __restrict__ factors, float* __restrict__ dgamma,
                                      float* __restrict__ dbeta) {
  for (int c = first_element<int>(); c < channels; c += element_stride<int>()) {
    float sum = 0.0f;
    float products = 0.0f;
    for (std::int64_t p = 0; p < positions; ++p) {
      const float gradient = to_float(dy[p * channels + c]);
      sum += gradient;
      products += gradient * ((to_float(x[p * channels + c]) - means[c]) * factors[c]);
    }
    dgamma[c] = products;
    dbeta[c] = sum;
  }
}

// Both gradients may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void batch_norm_backward_naive(Index count, unsigned channels, float positions,
                                          const T* __restrict__ x, const T* dy, const T* __restrict__ gamma,
                                          const float* __restrict__ means, const float* __restrict__ factors,
                                          const float* __restrict__ dgamma, const float* __restrict__ dbeta,
                                          T* dx) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    const auto c = static_cast<unsigned>(i % channels);
    const float normal = (to_float(x[i]) - means[c]) * factors[c];
    const float centred = to_float(dy[i]) - dbeta[c] / positions - normal * (dgamma[c] / positions);
    dx[i] = from_float<T>(factors[c] * to_float(gamma[c]) * centred);
  }
}

__global__ void batch_norm_track_naive(int channels, float unbias, const float* __restrict__ means,
                                       const float* __restrict__ factors,
                                       const step::StepControl* __restrict__ control,
                                       float* __restrict__ running_means,
                                       float* __restrict__ running_variances) {
  if (control->halted != 0) return;
  for (int c = first_element<int>(); c < channels; c += element_stride<int>()) {
    track_channel(means[c], factors[c], unbias, running_means[c], running_variances[c]);
  }
}

void forward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  const int channels = call.shape.in_channels;
  auto* means = call.operand<float>(Name::statistics);
  auto* rests = static_cast<float*>(call.workspace);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_kernel(call, "moments", {element_blocks(channels)}, batch_norm_moments_naive<T>,
               sizes::pixels(call.shape), channels, Name::input, means, means + channels, rests);
    run_elements(call, count, batch_norm_forward_naive<Index, T>, count, channels, Name::input, Name::weights,
                 Name::bias, means, means + channels, rests, Name::output);
  });
}

std::size_t forward_workspace(const OpShape& s, core::Precision) {
  return static_cast<std::size_t>(s.in_channels) * sizeof(float);
}

void infer(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, batch_norm_infer_naive<Index, T>, count, call.shape.in_channels, Name::input,
                 Name::weights, Name::bias, Name::running_mean, Name::running_variance, Name::output);
  });
}

void moments(const OpCall& call) {
  const int channels = call.shape.in_channels;
  auto* means = call.operand<float>(Name::moments);
  with_storage(call.precision, [&]<class T>(T) {
    run_elements(call, channels, batch_norm_plain_moments_naive<T>, sizes::pixels(call.shape), channels,
                 Name::input, means, means + channels);
  });
}

void backward_sums(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const auto* means = call.operand<const float>(Name::statistics);
  with_storage(call.precision, [&]<class T>(T) {
    run_kernel(call, "sums", {element_blocks(channels)}, batch_norm_sums_naive<T>, sizes::pixels(call.shape),
               channels, Name::input, Name::output_gradient, means, means + channels, Name::weights_gradient,
               Name::bias_gradient);
  });
}

void backward_input(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  const std::int64_t positions = sizes::pixels(call.shape);
  const int channels = call.shape.in_channels;
  const auto* means = call.operand<const float>(Name::statistics);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, batch_norm_backward_naive<Index, T>, count, channels, positions, Name::input,
                 Name::output_gradient, Name::weights, means, means + channels, Name::weights_gradient,
                 Name::bias_gradient, Name::input_gradient);
  });
}

void backward(const OpCall& call) {
  backward_sums(call);
  backward_input(call);
}

void track(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const auto* means = call.operand<const float>(Name::statistics);
  run_elements(call, channels, batch_norm_track_naive, channels, unbiased<float>(sizes::pixels(call.shape)),
               means, means + channels, Name::control, Name::running_mean, Name::running_variance);
}

}  // namespace

Variant naive_forward() {
  Variant variant = naive_variant(Op::batch_norm_forward, forward,
                                  "One thread per channel adds its positions, then one per element writes.");
  variant.workspace_bytes = forward_workspace;
  return variant;
}
Variant naive_infer() {
  return naive_variant(Op::batch_norm_infer, infer, "One thread per element.");
}
Variant naive_backward() {
  return naive_variant(Op::batch_norm_backward, backward,
                       "One thread per channel adds its positions, then one per element writes.");
}
Variant naive_track() {
  return naive_variant(Op::batch_norm_track, track, "One thread per channel.");
}
Variant naive_moments() {
  return naive_variant(Op::batch_norm_moments, moments, "One thread per channel adds its positions.");
}
Variant naive_backward_sums() {
  return naive_variant(Op::batch_norm_backward_sums, backward_sums,
                       "One thread per channel adds its positions.");
}
Variant naive_backward_input() {
  return naive_variant(Op::batch_norm_backward_input, backward_input, "One thread per element.");
}

}  // namespace warpscope::ops::batch_norm
