// batch_norm, variant `reference`: the formulas of batch_norm.cpp, summed in double whatever the element type.
// Limits: none. Source: batch_norm.cpp.

#include <cstdint>
#include <vector>

#include "gpu/ops/batch_norm/track.h"
#include "gpu/ops/normalization.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {
namespace {

/// y = (x - mean) factor gamma + beta, with mean and factor of each channel.
template <class T>
void normalize(const OpCall& call, const std::vector<double>& means, const std::vector<double>& factors) {
  const T* x = call.operand<const T>(Name::input);
  const T* gamma = call.operand<const T>(Name::weights);
  const T* beta = call.operand<const T>(Name::bias);
  T* y = call.operand<T>(Name::output);
  for (std::int64_t p = 0; p < sizes::pixels(call.shape); ++p) {
    for (std::size_t c = 0; c < means.size(); ++c, ++x, ++y) {
      *y = static_cast<T>((double{*x} - means[c]) * factors[c] * double{gamma[c]} + double{beta[c]});
    }
  }
}

template <class T>
void forward(const OpCall& call) {
  const std::int64_t channels = call.shape.in_channels;
  const std::int64_t positions = sizes::pixels(call.shape);
  const T* x = call.operand<const T>(Name::input);
  T* statistics = call.operand<T>(Name::statistics);
  std::vector<double> means(static_cast<std::size_t>(channels));
  std::vector<double> factors(means.size());
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (std::int64_t p = 0; p < positions; ++p) sum += double{x[p * channels + c]};
    const double mean = sum / static_cast<double>(positions);
    double squares = 0;
    for (std::int64_t p = 0; p < positions; ++p) {
      squares += (double{x[p * channels + c]} - mean) * (double{x[p * channels + c]} - mean);
    }
    const double factor = reciprocal_deviation(squares / static_cast<double>(positions));
    statistics[c] = static_cast<T>(mean);
    statistics[channels + c] = static_cast<T>(factor);
    means[static_cast<std::size_t>(c)] = mean;
    factors[static_cast<std::size_t>(c)] = factor;
  }
  normalize<T>(call, means, factors);
}

template <class T>
void infer(const OpCall& call) {
  const auto channels = static_cast<std::size_t>(call.shape.in_channels);
  const T* mean = call.operand<const T>(Name::running_mean);
  const T* variance = call.operand<const T>(Name::running_variance);
  std::vector<double> factors(channels);
  for (std::size_t c = 0; c < channels; ++c) factors[c] = reciprocal_deviation(double{variance[c]});
  normalize<T>(call, std::vector<double>(mean, mean + channels), factors);
}

template <class T>
void backward(const OpCall& call) {
  const std::int64_t channels = call.shape.in_channels;
  const std::int64_t positions = sizes::pixels(call.shape);
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  const T* statistics = call.operand<const T>(Name::statistics);
  T* dx = call.operand<T>(Name::input_gradient);
  for (std::int64_t c = 0; c < channels; ++c) {
    const double mean = statistics[c];
    const double factor = statistics[channels + c];
    double sum = 0;
    double products = 0;
    for (std::int64_t i = c; i < positions * channels; i += channels) {
      sum += double{dy[i]};
      products += double{dy[i]} * ((double{x[i]} - mean) * factor);
    }
    call.operand<T>(Name::weights_gradient)[c] = static_cast<T>(products);
    call.operand<T>(Name::bias_gradient)[c] = static_cast<T>(sum);
    const double scale = factor * double{call.operand<const T>(Name::weights)[c]};
    for (std::int64_t i = c; i < positions * channels; i += channels) {
      const double normal = (double{x[i]} - mean) * factor;
      dx[i] = static_cast<T>(scale * (double{dy[i]} - sum / static_cast<double>(positions) -
                                      normal * products / static_cast<double>(positions)));
    }
  }
}

template <class T>
void track(const OpCall& call) {
  if (call.operand<const step::StepControl>(Name::control)->halted != 0) return;
  const std::int64_t channels = call.shape.in_channels;
  const T* statistics = call.operand<const T>(Name::statistics);
  const auto unbias = unbiased<double>(sizes::pixels(call.shape));
  for (std::int64_t c = 0; c < channels; ++c) {
    track_channel<double>(statistics[c], statistics[channels + c], unbias,
                          call.operand<T>(Name::running_mean)[c], call.operand<T>(Name::running_variance)[c]);
  }
}

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::batch_norm_forward, in_either_width<forward<float>, forward<double>>);
}
Variant reference_infer() {
  return reference_variant(Op::batch_norm_infer, in_either_width<infer<float>, infer<double>>);
}
Variant reference_backward() {
  return reference_variant(Op::batch_norm_backward, in_either_width<backward<float>, backward<double>>);
}
Variant reference_track() {
  return reference_variant(Op::batch_norm_track, in_either_width<track<float>, track<double>>);
}

}  // namespace warpscope::ops::batch_norm
