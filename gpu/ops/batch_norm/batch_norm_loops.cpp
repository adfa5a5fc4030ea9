// batch_norm, variant `loops`: position by position along the channels, in FP32 whatever is stored, so that the
// compiler turns the inner loops into vector code. Sums over the batch are taken 64 positions at a time. The
// mean is taken twice: of the values, and of what is left of them, so that y keeps its digits where the mean is
// many times the deviation. Limits: none on the shape; one thread. Source: batch_norm.cpp; batch_norm_ranks.cpp;
// normalization.h; position_sums.h.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/ops/batch_norm/merge_ranks.h"
#include "gpu/ops/batch_norm/track.h"
#include "gpu/ops/loops_storage.h"
#include "gpu/ops/normalization.h"
#include "gpu/ops/position_sums.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/sums.h"

namespace warpscope::ops::batch_norm {
namespace {

/// How the channels are normalized: y = ((x - mean) - rest) scale + beta.
struct Moments {
  std::vector<float> means;
  std::vector<float> rests;  ///< what rounding took from the means
  std::vector<float> factors;
};

/// Factors that are variances still.
template <class T>
Moments plain_moments_of(const T* x, std::int64_t positions, int channels) {
  const auto count = static_cast<float>(positions);
  Moments moments;
  moments.means = position_sums(positions, channels, [&](std::int64_t p, float* sums) {
    for (int c = 0; c < channels; ++c) sums[c] += to_float(x[p * channels + c]);
  });
  for (float& mean : moments.means) mean /= count;
  const float* means = moments.means.data();
  moments.rests = position_sums(positions, channels, [&](std::int64_t p, float* sums) {
    for (int c = 0; c < channels; ++c) sums[c] += to_float(x[p * channels + c]) - means[c];
  });
  for (float& rest : moments.rests) rest /= count;
  const float* rests = moments.rests.data();
  moments.factors = position_sums(positions, channels, [&](std::int64_t p, float* sums) {
    for (int c = 0; c < channels; ++c) {
      const float centred = (to_float(x[p * channels + c]) - means[c]) - rests[c];
      sums[c] += centred * centred;
    }
  });
  for (float& factor : moments.factors) factor /= count;
  return moments;
}

template <class T>
Moments moments_of(const T* x, std::int64_t positions, int channels) {
  Moments moments = plain_moments_of(x, positions, channels);
  for (float& factor : moments.factors) factor = reciprocal_deviation(factor);
  return moments;
}

template <class T>
void normalize(const OpCall& call, const Moments& moments) {
  const auto channels = moments.means.size();
  const T* x = call.operand<const T>(Name::input);
  T* y = call.operand<T>(Name::output);
  std::vector<float> scales(channels);
  std::vector<float> betas(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    scales[c] = moments.factors[c] * to_float(call.operand<const T>(Name::weights)[c]);
    betas[c] = to_float(call.operand<const T>(Name::bias)[c]);
  }
  for (std::int64_t p = 0; p < sizes::pixels(call.shape); ++p, x += channels, y += channels) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float centred = (to_float(x[c]) - moments.means[c]) - moments.rests[c];
      y[c] = from_float<T>(centred * scales[c] + betas[c]);
    }
  }
}

template <class T>
void forward(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const Moments moments = moments_of(call.operand<const T>(Name::input), sizes::pixels(call.shape), channels);
  float* statistics = call.operand<float>(Name::statistics);
  for (std::size_t c = 0; c < moments.means.size(); ++c) {
    statistics[c] = moments.means[c] + moments.rests[c];
    statistics[moments.means.size() + c] = moments.factors[c];
  }
  normalize<T>(call, moments);
}

template <class T>
void infer(const OpCall& call) {
  const auto channels = static_cast<std::size_t>(call.shape.in_channels);
  const float* mean = call.operand<const float>(Name::running_mean);
  const float* variance = call.operand<const float>(Name::running_variance);
  Moments moments{std::vector<float>(mean, mean + channels), std::vector<float>(channels),
                  std::vector<float>(variance, variance + channels)};
  for (float& factor : moments.factors) factor = reciprocal_deviation(factor);
  normalize<T>(call, moments);
}

template <class T>
void moments(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const Moments found =
      plain_moments_of(call.operand<const T>(Name::input), sizes::pixels(call.shape), channels);
  float* to = call.operand<float>(Name::moments);
  for (std::size_t c = 0; c < found.means.size(); ++c) {
    to[c] = found.means[c] + found.rests[c];
    to[found.means.size() + c] = found.factors[c];
  }
}

void allreduce_moments(const OpCall& call) {
  const auto channels = static_cast<std::size_t>(call.shape.in_channels);
  std::vector<float> own(channels);
  merge_moments(call.context->share, {call.operand<float>(Name::moments), 2 * channels},
                {call.operand<float>(Name::statistics), 2 * channels}, own, "loops");
  if (call.context->share.sums) call.context->share.sums->check();
}

void allreduce_sums(const OpCall& call) {
  const ranks::Share& share = call.context->share;
  if (!share.sums) return;
  for (const Name name : {Name::weights_gradient, Name::bias_gradient}) {
    share.sums->add({call.operand<float>(name), static_cast<std::size_t>(call.shape.in_channels)},
                    share.weight, {ranks::Joint::moments_gradient, "loops"});
  }
  share.sums->check();
}

template <class T>
void backward_sums(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  const float* means = call.operand<const float>(Name::statistics);
  const float* factors = means + channels;
  const auto count = std::int64_t{channels};
  const auto sums = position_sums(sizes::pixels(call.shape), 2 * count, [&](std::int64_t p, float* to) {
    const T* row = x + p * channels;
    const T* gradient = dy + p * channels;
    for (int c = 0; c < channels; ++c) {
      to[c] += to_float(gradient[c]) * ((to_float(row[c]) - means[c]) * factors[c]);
    }
    for (int c = 0; c < channels; ++c) to[channels + c] += to_float(gradient[c]);
  });
  std::copy_n(sums.begin(), channels, call.operand<float>(Name::weights_gradient));
  std::copy_n(sums.begin() + channels, channels, call.operand<float>(Name::bias_gradient));
}

template <class T>
void backward_input(const OpCall& call) {
  const int channels = call.shape.in_channels;
  const std::int64_t positions = sizes::pixels(call.shape);
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  const T* gamma = call.operand<const T>(Name::weights);
  const float* means = call.operand<const float>(Name::statistics);
  const float* factors = means + channels;
  T* dx = call.operand<T>(Name::input_gradient);
  const auto shares_of = [&](Name name) {
    const float* sums = call.operand<const float>(name);
    std::vector<float> shares(sums, sums + channels);
    for (float& share : shares) share /= static_cast<float>(positions);
    return shares;
  };
  const std::vector<float> products = shares_of(Name::weights_gradient);
  const std::vector<float> gradients = shares_of(Name::bias_gradient);
  for (std::int64_t p = 0; p < positions; ++p, x += channels, dy += channels, dx += channels) {
    for (std::size_t c = 0; c < products.size(); ++c) {
      const float normal = (to_float(x[c]) - means[c]) * factors[c];
      const float centred = to_float(dy[c]) - gradients[c];
      dx[c] = from_float<T>(factors[c] * to_float(gamma[c]) * (centred - normal * products[c]));
    }
  }
}

template <class T>
void backward(const OpCall& call) {
  backward_sums<T>(call);
  backward_input<T>(call);
}

void track(const OpCall& call) {
  if (call.operand<const step::StepControl>(Name::control)->halted != 0) return;
  const int channels = call.shape.in_channels;
  const float* statistics = call.operand<const float>(Name::statistics);
  const auto unbias = unbiased<float>(sizes::pixels(call.shape));
  for (int c = 0; c < channels; ++c) {
    track_channel(statistics[c], statistics[channels + c], unbias, call.operand<float>(Name::running_mean)[c],
                  call.operand<float>(Name::running_variance)[c]);
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return loops_variant(op, run, "Loops along the channels on one thread, sums over the batch in FP32.");
}

}  // namespace

Variant loops_forward() {
  return loops(Op::batch_norm_forward, by_storage<forward<float>, forward<BFloat16>>);
}
Variant loops_infer() {
  return loops(Op::batch_norm_infer, by_storage<infer<float>, infer<BFloat16>>);
}
Variant loops_backward() {
  return loops(Op::batch_norm_backward, by_storage<backward<float>, backward<BFloat16>>);
}
Variant loops_track() {
  return loops(Op::batch_norm_track, track);
}
Variant loops_moments() {
  return loops(Op::batch_norm_moments, by_storage<moments<float>, moments<BFloat16>>);
}
Variant loops_backward_sums() {
  return loops(Op::batch_norm_backward_sums, by_storage<backward_sums<float>, backward_sums<BFloat16>>);
}
Variant loops_backward_input() {
  return loops(Op::batch_norm_backward_input, by_storage<backward_input<float>, backward_input<BFloat16>>);
}
Variant loops_allreduce_moments() {
  return loops_variant(Op::batch_norm_allreduce_moments, allreduce_moments,
                       "Ranks add their means, then squares of distances from the mean of all.");
}
Variant loops_allreduce_sums() {
  return loops_variant(Op::batch_norm_allreduce_sums, allreduce_sums,
                       "Each rank adds a part of the values of all, and gives the others the result.");
}

}  // namespace warpscope::ops::batch_norm
