// cross_entropy, variant `loops`: image by image, in FP32 whatever is stored. The largest exponential, which
// is 1, and the one of the label stay out of the sums, so that the loss and the gradient of an image that is
// all but certain keep their digits. The losses of the batch are added with the lost digits carried along: a
// chain of 65,536 terms would be too rough. Limits: none on the shape; one thread. Source: cross_entropy.h;
// W. Kahan, "Further remarks on reducing truncation errors" (1965).

#include <cmath>
#include <cstdint>

#include "gpu/ops/cross_entropy/cross_entropy.h"
#include "gpu/ops/loops_storage.h"
#include "gpu/ops/step/step.h"
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

/// sum over c other than `without` of exp(z[c] - peak)
template <class T>
float sum_of_others(const T* z, int classes, int without, float peak) {
  float sum = 0;
  for (int c = 0; c < classes; ++c) {
    if (c != without) sum += std::exp(to_float(z[c]) - peak);
  }
  return sum;
}

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* z = call.operand<const T>(Name::logits);
  const auto* labels = call.operand<const std::uint8_t>(Name::labels);
  float* image_losses = call.operand<float>(Name::sample_losses);
  auto* predicted = call.operand<std::uint8_t>(Name::predicted);
  float loss = 0;
  float lost = 0;
  std::int64_t right = 0;
  for (std::int64_t n = 0; n < s.batch; ++n, z += s.in_channels) {
    const Peak peak = find_peak(z, s.in_channels);
    image_losses[n] = std::log1p(sum_of_others(z, s.in_channels, peak.place, peak.value)) +
                      (peak.value - to_float(z[labels[n]]));
    predicted[n] = peak.any_nan ? std::uint8_t{0} : static_cast<std::uint8_t>(peak.place);
    right += predicted[n] == labels[n] ? 1 : 0;
    const float term = image_losses[n] - lost;
    const float sum = loss + term;
    lost = (sum - loss) - term;
    loss = sum;
  }
  const auto images = static_cast<float>(s.batch);
  *call.operand<float>(Name::loss) = loss / images;
  *call.operand<float>(Name::accuracy) = static_cast<float>(right) / images;
}

template <class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* z = call.operand<const T>(Name::logits);
  const auto* labels = call.operand<const std::uint8_t>(Name::labels);
  const float scale =
      call.operand<const step::StepControl>(Name::control)->loss_scale / static_cast<float>(s.batch);
  T* dz = call.operand<T>(Name::gradient);
  for (std::int64_t n = 0; n < s.batch; ++n, z += s.in_channels, dz += s.in_channels) {
    const int label = labels[n];
    const float peak = find_peak(z, s.in_channels).value;
    const float others = sum_of_others(z, s.in_channels, label, peak);
    const float factor = scale / (others + std::exp(to_float(z[label]) - peak));
    // The gradient may lie in the memory of the logits: each is read before it is replaced.
    for (int c = 0; c < s.in_channels; ++c) {
      dz[c] = from_float<T>(factor * (c == label ? -others : std::exp(to_float(z[c]) - peak)));
    }
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "loops",
          .precisions = loops_precisions(),
          .presets = {{"loops"}},
          .summary = "A loop over images and classes on one thread.",
          .launch = run};
}

}  // namespace

Variant loops_forward() {
  return loops(Op::cross_entropy_forward, by_storage<forward<float>, forward<BFloat16>>);
}
Variant loops_backward() {
  return loops(Op::cross_entropy_backward, by_storage<backward<float>, backward<BFloat16>>);
}

}  // namespace warpscope::ops::cross_entropy
