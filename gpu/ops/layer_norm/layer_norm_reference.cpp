// layer_norm, variant `reference`: the formulas of layer_norm.cpp, summed in double whatever the element type.
// Limits: none. Source: layer_norm.cpp.

#include <cstdint>

#include "gpu/ops/normalization.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::layer_norm {
namespace {

template <class T>
void forward(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const std::int64_t positions = sizes::pixels(call.shape);
  const T* x = call.operand<const T>(Name::input);
  const T* gamma = call.operand<const T>(Name::weights);
  const T* beta = call.operand<const T>(Name::bias);
  T* y = call.operand<T>(Name::output);
  T* statistics = call.operand<T>(Name::statistics);
  for (std::int64_t p = 0; p < positions; ++p, x += channels, y += channels) {
    double sum = 0;
    for (int c = 0; c < channels; ++c) sum += double{x[c]};
    const double mean = sum / channels;
    double squares = 0;
    for (int c = 0; c < channels; ++c) squares += (double{x[c]} - mean) * (double{x[c]} - mean);
    const double factor = reciprocal_deviation(squares / channels);
    statistics[p] = static_cast<T>(mean);
    statistics[positions + p] = static_cast<T>(factor);
    for (int c = 0; c < channels; ++c) {
      y[c] = static_cast<T>((double{x[c]} - mean) * factor * double{gamma[c]} + double{beta[c]});
    }
  }
}

template <class T>
void backward_input(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const std::int64_t positions = sizes::pixels(call.shape);
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  const T* gamma = call.operand<const T>(Name::weights);
  const T* statistics = call.operand<const T>(Name::statistics);
  T* dx = call.operand<T>(Name::input_gradient);
  for (std::int64_t p = 0; p < positions; ++p, x += channels, dy += channels, dx += channels) {
    const double mean = statistics[p];
    const double factor = statistics[positions + p];
    double sum = 0;
    double products = 0;
    for (int c = 0; c < channels; ++c) {
      const double gradient = double{dy[c]} * double{gamma[c]};
      sum += gradient;
      products += gradient * ((double{x[c]} - mean) * factor);
    }
    for (int c = 0; c < channels; ++c) {
      const double gradient = double{dy[c]} * double{gamma[c]};
      const double normal = (double{x[c]} - mean) * factor;
      dx[c] = static_cast<T>(factor * (gradient - sum / channels - normal * (products / channels)));
    }
  }
}

template <class T>
void backward_weights(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const std::int64_t positions = sizes::pixels(call.shape);
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  const T* statistics = call.operand<const T>(Name::statistics);
  for (int c = 0; c < channels; ++c) {
    double sum = 0;
    double products = 0;
    for (std::int64_t p = 0; p < positions; ++p) {
      const double gradient = dy[p * channels + c];
      sum += gradient;
      products += gradient *
                  ((double{x[p * channels + c]} - double{statistics[p]}) * double{statistics[positions + p]});
    }
    call.operand<T>(Name::weights_gradient)[c] = static_cast<T>(products);
    call.operand<T>(Name::bias_gradient)[c] = static_cast<T>(sum);
  }
}

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::layer_norm_forward, in_either_width<forward<float>, forward<double>>);
}
Variant reference_backward_input() {
  return reference_variant(Op::layer_norm_backward_input,
                           in_either_width<backward_input<float>, backward_input<double>>);
}
Variant reference_backward_weights() {
  return reference_variant(Op::layer_norm_backward_weights,
                           in_either_width<backward_weights<float>, backward_weights<double>>);
}

}  // namespace warpscope::ops::layer_norm
