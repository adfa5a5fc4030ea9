// layer_norm, variant `naive`: the first rung on CUDA. One thread per position walks its channels: for the mean,
// for what is left of it and the squares, and to write; in backward twice. The gradients of the parameters take
// one thread per channel, which adds all positions in a register. Limits: none on the shape; in the walks along
// the channels neighbouring threads read values that lie a row apart, and few channels leave most of the GPU idle
// in the sums over the positions. At most 40 registers, no shared memory, no spills. Source: layer_norm.cpp;
// normalization.h.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/normalization.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::layer_norm {
namespace {

// Input and output may be the same memory, hence no __restrict__ on them.
template <class T>
__global__ void layer_norm_forward_naive(std::int64_t positions, int channels, const T* x,
                                         const T* __restrict__ gamma, const T* __restrict__ beta, T* y,
                                         float* __restrict__ means, float* __restrict__ factors) {
  const auto count = static_cast<float>(channels);
  for (auto p = first_element<std::int64_t>(); p < positions; p += element_stride<std::int64_t>()) {
    const T* row = x + p * channels;
    float sum = 0.0f;
    for (int c = 0; c < channels; ++c) sum += to_float(row[c]);
    const float mean = sum / count;
    float left = 0.0f;
    float squares = 0.0f;
    for (int c = 0; c < channels; ++c) {
      const float centred = to_float(row[c]) - mean;
      left += centred;
      squares += centred * centred;
    }
    const float rest = left / count;
    const float factor = reciprocal_deviation(squares / count - rest * rest);
    means[p] = mean + rest;
    factors[p] = factor;
    for (int c = 0; c < channels; ++c) {
      const float centred = (to_float(row[c]) - mean) - rest;
      y[p * channels + c] = from_float<T>(centred * factor * to_float(gamma[c]) + to_float(beta[c]));
    }
  }
}

// Both gradients may be the same memory, hence no __restrict__ on them.
template <class T>
__global__ void layer_norm_backward_input_naive(std::int64_t positions, int channels, const T* __restrict__ x,
                                                const T* dy, const T* __restrict__ gamma,
                                                const float* __restrict__ means,
                                                const float* __restrict__ factors, T* dx) {
  const auto count = static_cast<float>(channels);
  for (auto p = first_element<std::int64_t>(); p < positions; p += element_stride<std::int64_t>()) {
    const T* row = x + p * channels;
    const T* gradients = dy + p * channels;
    const float mean = means[p];
    const float factor = factors[p];
    float sum = 0.0f;
    float products = 0.0f;
    for (int c = 0; c < channels; ++c) {
      const float gradient = to_float(gradients[c]) * to_float(gamma[c]);
      sum += gradient;
      products += gradient * ((to_float(row[c]) - mean) * factor);
    }
    sum /= count;
    products /= count;
    for (int c = 0; c < channels; ++c) {
      const float gradient = to_float(gradients[c]) * to_float(gamma[c]);
      const float normal = (to_float(row[c]) - mean) * factor;
      dx[p * channels + c] = from_float<T>(factor * (gradient - sum - normal * products));
    }
  }
}

template <class T>
__global__ void layer_norm_backward_weights_naive(std::int64_t positions, int channels,
                                                  const T* __restrict__ x, const T* __restrict__ dy,
                                                  const float* __restrict__ means,
                                                  const float* __restrict__ factors,
                                                  float* __restrict__ dgamma, float* __restrict__ dbeta) {
  for (int c = first_element<int>(); c < channels; c += element_stride<int>()) {
    float sum = 0.0f;
    float products = 0.0f;
    for (std::int64_t p = 0; p < positions; ++p) {
      const float gradient = to_float(dy[p * channels + c]);
      sum += gradient;
      products += gradient * ((to_float(x[p * channels + c]) - means[p]) * factors[p]);
    }
    dgamma[c] = products;
    dbeta[c] = sum;
  }
}

void forward(const OpCall& call) {
  const std::int64_t positions = sizes::pixels(call.shape);
  auto* statistics = call.operand<float>(Name::statistics);
  with_storage(call.precision, [&]<class T>(T) {
    run_elements(call, positions, layer_norm_forward_naive<T>, positions, call.shape.in_channels, Name::input,
                 Name::weights, Name::bias, Name::output, statistics, statistics + positions);
  });
}

void backward_input(const OpCall& call) {
  const std::int64_t positions = sizes::pixels(call.shape);
  const auto* statistics = call.operand<const float>(Name::statistics);
  with_storage(call.precision, [&]<class T>(T) {
    run_elements(call, positions, layer_norm_backward_input_naive<T>, positions, call.shape.in_channels,
                 Name::input, Name::output_gradient, Name::weights, statistics, statistics + positions,
                 Name::input_gradient);
  });
}

void backward_weights(const OpCall& call) {
  const std::int64_t positions = sizes::pixels(call.shape);
  const int channels = call.shape.in_channels;
  const auto* statistics = call.operand<const float>(Name::statistics);
  with_storage(call.precision, [&]<class T>(T) {
    run_elements(call, channels, layer_norm_backward_weights_naive<T>, positions, channels, Name::input,
                 Name::output_gradient, statistics, statistics + positions, Name::weights_gradient,
                 Name::bias_gradient);
  });
}

}  // namespace

Variant naive_forward() {
  return naive_variant(Op::layer_norm_forward, forward, "One thread per position, which walks its channels.");
}
Variant naive_backward_input() {
  return naive_variant(Op::layer_norm_backward_input, backward_input,
                       "One thread per position, which walks its channels.");
}
Variant naive_backward_weights() {
  return naive_variant(Op::layer_norm_backward_weights, backward_weights,
                       "One thread per channel, which adds all positions in a register.");
}

}  // namespace warpscope::ops::layer_norm
