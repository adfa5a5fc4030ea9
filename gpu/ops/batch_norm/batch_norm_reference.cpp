// batch_norm, variant `reference`: the formulas of batch_norm.cpp and batch_norm_ranks.cpp, summed in double whatever
// the element type. Limits: none. Source: batch_norm.cpp; batch_norm_ranks.cpp.

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/ops/batch_norm/track.h"
#include "gpu/ops/normalization.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/sums.h"

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

struct Moments {
  double mean = 0;
  double variance = 0;
};

/// The moments of channel c of the input.
template <class T>
Moments moments_of(const OpCall& call, std::int64_t c) {
  const std::int64_t channels = call.shape.in_channels;
  const std::int64_t positions = sizes::pixels(call.shape);
  const T* x = call.operand<const T>(Name::input);
  double sum = 0;
  for (std::int64_t p = 0; p < positions; ++p) sum += double{x[p * channels + c]};
  const double mean = sum / static_cast<double>(positions);
  double squares = 0;
  for (std::int64_t p = 0; p < positions; ++p) {
    squares += (double{x[p * channels + c]} - mean) * (double{x[p * channels + c]} - mean);
  }
  return {mean, squares / static_cast<double>(positions)};
}

template <class T>
void forward(const OpCall& call) {
  const std::int64_t channels = call.shape.in_channels;
  T* statistics = call.operand<T>(Name::statistics);
  std::vector<double> means(static_cast<std::size_t>(channels));
  std::vector<double> factors(means.size());
  for (std::int64_t c = 0; c < channels; ++c) {
    const Moments found = moments_of<T>(call, c);
    const double factor = reciprocal_deviation(found.variance);
    statistics[c] = static_cast<T>(found.mean);
    statistics[channels + c] = static_cast<T>(factor);
    means[static_cast<std::size_t>(c)] = found.mean;
    factors[static_cast<std::size_t>(c)] = factor;
  }
  normalize<T>(call, means, factors);
}

template <class T>
void moments(const OpCall& call) {
  const std::int64_t channels = call.shape.in_channels;
  T* to = call.operand<T>(Name::moments);
  for (std::int64_t c = 0; c < channels; ++c) {
    const Moments found = moments_of<T>(call, c);
    to[c] = static_cast<T>(found.mean);
    to[channels + c] = static_cast<T>(found.variance);
  }
}

/// What all ranks give, side by side in their order, each value times its rank's weight.
template <class T>
std::vector<double> weighted(const ranks::Share& share, ranks::Joint joint, std::span<const T> mine) {
  ranks::Group& group = share.sums->group_for({joint, "reference"});
  const auto size = static_cast<std::size_t>(group.place().size);
  std::vector<double> given(mine.begin(), mine.end());
  for (double& value : given) value *= double{share.weight};
  std::vector<double> all(size * given.size());
  group.all_gather(std::as_bytes(std::span(given)), std::as_writable_bytes(std::span(all)));
  return all;
}

template <class T>
void add(const ranks::Share& share, ranks::Joint joint, std::span<T> values) {
  const std::vector<double> all = weighted<T>(share, joint, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    for (std::size_t at = i; at < all.size(); at += values.size()) sum += all[at];
    values[i] = static_cast<T>(sum);
  }
}

template <class T>
void allreduce_moments(const OpCall& call) {
  const auto channels = static_cast<std::size_t>(call.shape.in_channels);
  const std::span means(call.operand<T>(Name::moments), channels);
  const std::span variances(means.data() + channels, channels);
  const ranks::Share& share = call.context->share;
  if (share.sums) {
    const std::vector<T> own(means.begin(), means.end());
    add<T>(share, ranks::Joint::moments, means);
    for (std::size_t c = 0; c < channels; ++c) variances[c] += (own[c] - means[c]) * (own[c] - means[c]);
    add<T>(share, ranks::Joint::moments, variances);
  }
  T* statistics = call.operand<T>(Name::statistics);
  for (std::size_t c = 0; c < channels; ++c) {
    statistics[c] = means[c];
    statistics[channels + c] = static_cast<T>(reciprocal_deviation(double{variances[c]}));
  }
}

template <class T>
void allreduce_sums(const OpCall& call) {
  if (!call.context->share.sums) return;
  const auto channels = static_cast<std::size_t>(call.shape.in_channels);
  for (const Name name : {Name::weights_gradient, Name::bias_gradient}) {
    add<T>(call.context->share, ranks::Joint::moments_gradient, {call.operand<T>(name), channels});
  }
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

/// The gradients of gamma and beta of a channel.
struct Sums {
  double products = 0;
  double gradients = 0;
};

template <class T>
Sums sums_of(const OpCall& call, std::int64_t c) {
  const std::int64_t channels = call.shape.in_channels;
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  const double mean = call.operand<const T>(Name::statistics)[c];
  const double factor = call.operand<const T>(Name::statistics)[channels + c];
  Sums sums;
  for (std::int64_t i = c; i < sizes::pixels(call.shape) * channels; i += channels) {
    sums.gradients += double{dy[i]};
    sums.products += double{dy[i]} * ((double{x[i]} - mean) * factor);
  }
  call.operand<T>(Name::weights_gradient)[c] = static_cast<T>(sums.products);
  call.operand<T>(Name::bias_gradient)[c] = static_cast<T>(sums.gradients);
  return sums;
}

/// The gradient of the input of a channel.
template <class T>
void pass_on(const OpCall& call, std::int64_t c, const Sums& sums) {
  const std::int64_t channels = call.shape.in_channels;
  const auto positions = static_cast<double>(sizes::pixels(call.shape));
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  T* dx = call.operand<T>(Name::input_gradient);
  const double mean = call.operand<const T>(Name::statistics)[c];
  const double factor = call.operand<const T>(Name::statistics)[channels + c];
  const double scale = factor * double{call.operand<const T>(Name::weights)[c]};
  for (std::int64_t i = c; i < sizes::pixels(call.shape) * channels; i += channels) {
    const double normal = (double{x[i]} - mean) * factor;
    dx[i] = static_cast<T>(scale *
                           (double{dy[i]} - sums.gradients / positions - normal * sums.products / positions));
  }
}

template <class T>
void backward(const OpCall& call) {
  for (std::int64_t c = 0; c < call.shape.in_channels; ++c) pass_on<T>(call, c, sums_of<T>(call, c));
}

template <class T>
void backward_sums(const OpCall& call) {
  for (std::int64_t c = 0; c < call.shape.in_channels; ++c) sums_of<T>(call, c);
}

template <class T>
void backward_input(const OpCall& call) {
  for (std::int64_t c = 0; c < call.shape.in_channels; ++c) {
    pass_on<T>(
        call, c,
        {call.operand<const T>(Name::weights_gradient)[c], call.operand<const T>(Name::bias_gradient)[c]});
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
Variant reference_moments() {
  return reference_variant(Op::batch_norm_moments, in_either_width<moments<float>, moments<double>>);
}
Variant reference_allreduce_moments() {
  return reference_variant(Op::batch_norm_allreduce_moments,
                           in_either_width<allreduce_moments<float>, allreduce_moments<double>>);
}
Variant reference_backward_sums() {
  return reference_variant(Op::batch_norm_backward_sums,
                           in_either_width<backward_sums<float>, backward_sums<double>>);
}
Variant reference_allreduce_sums() {
  return reference_variant(Op::batch_norm_allreduce_sums,
                           in_either_width<allreduce_sums<float>, allreduce_sums<double>>);
}
Variant reference_backward_input() {
  return reference_variant(Op::batch_norm_backward_input,
                           in_either_width<backward_input<float>, backward_input<double>>);
}

}  // namespace warpscope::ops::batch_norm
