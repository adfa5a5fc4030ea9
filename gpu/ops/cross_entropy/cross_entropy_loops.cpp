// cross_entropy and mixed_cross_entropy, variant `loops`: image by image, in FP32 whatever is stored. The largest
// exponential, which is 1, and those of the labels stay out of the sums, so that the loss and the gradient of an image
// that is all but certain keep their digits. The losses of the batch are added with the lost digits carried along: a
// chain of 65,536 terms would be too rough. Limits: none on the shape; one thread. Source: cross_entropy.cpp;
// W. Kahan, "Further remarks on reducing truncation errors" (1965).

#include <cmath>
#include <cstdint>

#include "gpu/ops/cross_entropy/labels.h"
#include "gpu/ops/loops_storage.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::cross_entropy {
namespace {

struct Peak {
  float value;
  int place;     ///< the first of the largest
  bool any_nan;  ///< among all logits
};

template <class T>
Peak find_peak(const T* z, int classes) {
  Peak peak{to_float(z[0]), 0, false};
  for (int c = 0; c < classes; ++c) {
    const float value = to_float(z[c]);
    peak.any_nan |= std::isnan(value);
    if (value > peak.value) {
      peak.value = value;
      peak.place = c;
    }
  }
  return peak;
}

/// sum over c other than those of `without` of exp(z[c] - peak)
template <class T, int N>
float sum_of_others(const T* z, int classes, const Labels<N>& without, float peak) {
  float sum = 0;
  for (int c = 0; c < classes; ++c) {
    if (!without.has(c)) sum += std::exp(to_float(z[c]) - peak);
  }
  return sum;
}

template <class Targets, class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const Targets targets(call.operand<const step::StepControl>(Name::control));
  const T* z = call.operand<const T>(Name::logits);
  const auto* all_labels = call.operand<const std::uint8_t>(Name::labels);
  float* image_losses = call.operand<float>(Name::sample_losses);
  auto* predicted = call.operand<std::uint8_t>(Name::predicted);
  float loss = 0;
  float lost = 0;
  std::int64_t right = 0;
  for (std::int64_t n = 0; n < s.batch; ++n, z += s.in_channels) {
    const Peak peak = find_peak(z, s.in_channels);
    const auto labels = targets.labels(all_labels, n, s.batch);
    float misses[Targets::kLabels];
    for (int k = 0; k < Targets::kLabels; ++k) misses[k] = peak.value - to_float(z[labels.of[k]]);
    const float others = sum_of_others(z, s.in_channels, Labels<1>{{peak.place}}, peak.value);
    image_losses[n] = targets.loss(std::log1p(others), misses);
    predicted[n] = static_cast<std::uint8_t>(peak.any_nan ? 0 : peak.place);
    right += predicted[n] == targets.leading(labels) ? 1 : 0;
    const float term = image_losses[n] - lost;
    const float sum = loss + term;
    lost = (sum - loss) - term;
    loss = sum;
  }
  const auto images = static_cast<float>(s.batch);
  *call.operand<float>(Name::loss) = loss / images;
  *call.operand<float>(Name::accuracy) = static_cast<float>(right) / images;
}

template <class Targets, class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto* control = call.operand<const step::StepControl>(Name::control);
  const Targets targets(control);
  const T* z = call.operand<const T>(Name::logits);
  const auto* all_labels = call.operand<const std::uint8_t>(Name::labels);
  const float scale = control->loss_scale / static_cast<float>(s.batch);
  T* dz = call.operand<T>(Name::gradient);
  for (std::int64_t n = 0; n < s.batch; ++n, z += s.in_channels, dz += s.in_channels) {
    const auto labels = targets.labels(all_labels, n, s.batch);
    const float peak = find_peak(z, s.in_channels).value;
    float own[Targets::kLabels];
    for (int k = 0; k < Targets::kLabels; ++k) own[k] = std::exp(to_float(z[labels.of[k]]) - peak);
    const auto slopes = targets.slopes(labels, sum_of_others(z, s.in_channels, labels, peak), own, scale);
    // The gradient may lie in the memory of the logits: each is read before it is replaced.
    for (int c = 0; c < s.in_channels; ++c) {
      const float value = labels.has(c) ? slopes.at_label(labels, c) : std::exp(to_float(z[c]) - peak);
      dz[c] = from_float<T>(slopes.factor * value);
    }
  }
}

constexpr const char* kSummary = "A loop over images and classes on one thread.";

}  // namespace

template <class Targets>
std::vector<Variant> loops() {
  return {loops_variant(Targets::kForward, by_storage<forward<Targets, float>, forward<Targets, BFloat16>>,
                        kSummary),
          loops_variant(Targets::kBackward, by_storage<backward<Targets, float>, backward<Targets, BFloat16>>,
                        kSummary)};
}
template std::vector<Variant> loops<OneLabel>();
template std::vector<Variant> loops<MixedLabels>();

}  // namespace warpscope::ops::cross_entropy
