// layer_norm, variant `loops`: position by position, in FP32 whatever is stored. Sums over the channels run in
// eight parts side by side, which the compiler turns into vector code. The mean is taken twice: of the channels,
// and of what is left of them, so that y keeps its digits where the mean is many times the deviation. The
// gradients of the parameters are summed 64 positions at a time. Limits: none on the shape; one thread. Source:
// layer_norm.cpp; normalization.h; position_sums.h.

#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/normalization.h"
#include "gpu/ops/position_sums.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::layer_norm {
namespace {

/// The sum of value(c) over the channels.
template <class Value>
float channel_sum(int channels, Value value) {
  constexpr int kParts = 8;
  float parts[kParts] = {};
  int c = 0;
  for (; c + kParts <= channels; c += kParts) {
    for (int i = 0; i < kParts; ++i) parts[i] += value(c + i);
  }
  float sum = 0;
  for (; c < channels; ++c) sum += value(c);
  for (const float part : parts) sum += part;
  return sum;
}

template <class T>
void forward(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const auto count = static_cast<float>(channels);
  const std::int64_t positions = sizes::pixels(call.shape);
  const T* x = call.operand<const T>(Name::input);
  const T* gamma = call.operand<const T>(Name::weights);
  const T* beta = call.operand<const T>(Name::bias);
  T* y = call.operand<T>(Name::output);
  float* statistics = call.operand<float>(Name::statistics);
  for (std::int64_t p = 0; p < positions; ++p, x += channels, y += channels) {
    const float mean = channel_sum(channels, [&](int c) { return to_float(x[c]); }) / count;
    const float rest = channel_sum(channels, [&](int c) { return to_float(x[c]) - mean; }) / count;
    const float squares = channel_sum(channels, [&](int c) {
      const float centred = (to_float(x[c]) - mean) - rest;
      return centred * centred;
    });
    const float factor = reciprocal_deviation(squares / count);
    statistics[p] = mean + rest;
    statistics[positions + p] = factor;
    for (int c = 0; c < channels; ++c) {
      const float centred = (to_float(x[c]) - mean) - rest;
      y[c] = from_float<T>(centred * factor * to_float(gamma[c]) + to_float(beta[c]));
    }
  }
}

template <class T>
void backward_input(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const auto count = static_cast<float>(channels);
  const std::int64_t positions = sizes::pixels(call.shape);
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  const T* gamma = call.operand<const T>(Name::weights);
  const float* statistics = call.operand<const float>(Name::statistics);
  T* dx = call.operand<T>(Name::input_gradient);
  for (std::int64_t p = 0; p < positions; ++p, x += channels, dy += channels, dx += channels) {
    const float mean = statistics[p];
    const float factor = statistics[positions + p];
    const auto normal = [&](int c) { return (to_float(x[c]) - mean) * factor; };
    const auto gradient = [&](int c) { return to_float(dy[c]) * to_float(gamma[c]); };
    const float sum = channel_sum(channels, gradient);
    const float products = channel_sum(channels, [&](int c) { return gradient(c) * normal(c); });
    for (int c = 0; c < channels; ++c) {
      dx[c] = from_float<T>(factor * (gradient(c) - sum / count - normal(c) * (products / count)));
    }
  }
}

template <class T>
void backward_weights(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const std::int64_t positions = sizes::pixels(call.shape);
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  const float* statistics = call.operand<const float>(Name::statistics);
  const auto sums = position_sums(positions, 2 * std::int64_t{channels}, [&](std::int64_t p, float* to) {
    const T* row = x + p * channels;
    const T* gradient = dy + p * channels;
    const float mean = statistics[p];
    const float factor = statistics[positions + p];
    for (int c = 0; c < channels; ++c) to[c] += to_float(gradient[c]) * ((to_float(row[c]) - mean) * factor);
    for (int c = 0; c < channels; ++c) to[channels + c] += to_float(gradient[c]);
  });
  std::copy_n(sums.begin(), channels, call.operand<float>(Name::weights_gradient));
  std::copy_n(sums.begin() + channels, channels, call.operand<float>(Name::bias_gradient));
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return loops_variant(op, run, "Loops along the channels of each position on one thread, sums in FP32.");
}

}  // namespace

Variant loops_forward() {
  return loops(Op::layer_norm_forward, by_storage<forward<float>, forward<BFloat16>>);
}
Variant loops_backward_input() {
  return loops(Op::layer_norm_backward_input, by_storage<backward_input<float>, backward_input<BFloat16>>);
}
Variant loops_backward_weights() {
  return loops(Op::layer_norm_backward_weights,
               by_storage<backward_weights<float>, backward_weights<BFloat16>>);
}

}  // namespace warpscope::ops::layer_norm
