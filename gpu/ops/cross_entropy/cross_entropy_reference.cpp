// cross_entropy, variant `reference`: the formulas of cross_entropy.h, in double whatever the element type.
// The largest exponential, which is 1, and the one of the label stay out of the sums, so that the loss and
// the gradient of an image that is all but certain keep their digits: log(1 + r) by log1p, and 1 - softmax as
// the share of the others. Limits: none. Source: cross_entropy.h.

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu/ops/cross_entropy/cross_entropy.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::cross_entropy {
namespace {

/// The first of the largest logits.
template <class T>
int first_largest(const T* z, int classes) {
  int best = 0;
  for (int c = 1; c < classes; ++c) {
    if (z[c] > z[best]) best = c;
  }
  return best;
}

/// sum over c other than `without` of exp(z[c] - peak)
template <class T>
double sum_of_others(const T* z, int classes, int without, double peak) {
  double sum = 0;
  for (int c = 0; c < classes; ++c) {
    if (c != without) sum += std::exp(double{z[c]} - peak);
  }
  return sum;
}

template <class T>
bool has_nan(const T* z, int classes) {
  for (int c = 0; c < classes; ++c) {
    if (std::isnan(z[c])) return true;
  }
  return false;
}

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* z = call.operand<const T>(Name::logits);
  const auto* labels = call.operand<const std::uint8_t>(Name::labels);
  T* image_losses = call.operand<T>(Name::sample_losses);
  auto* predicted = call.operand<std::uint8_t>(Name::predicted);
  double loss = 0;
  std::int64_t right = 0;
  for (std::int64_t n = 0; n < s.batch; ++n, z += s.in_channels) {
    const int best = first_largest(z, s.in_channels);
    const double peak = double{z[best]};
    const double image_loss =
        std::log1p(sum_of_others(z, s.in_channels, best, peak)) + (peak - double{z[labels[n]]});
    image_losses[n] = static_cast<T>(image_loss);
    predicted[n] = has_nan(z, s.in_channels) ? std::uint8_t{0} : static_cast<std::uint8_t>(best);
    loss += image_loss;
    right += predicted[n] == labels[n] ? 1 : 0;
  }
  const auto images = static_cast<double>(s.batch);
  *call.operand<T>(Name::loss) = static_cast<T>(loss / images);
  *call.operand<T>(Name::accuracy) = static_cast<T>(static_cast<double>(right) / images);
}

template <class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* z = call.operand<const T>(Name::logits);
  const auto* labels = call.operand<const std::uint8_t>(Name::labels);
  const double scale =
      double{call.operand<const step::StepControl>(Name::control)->loss_scale} / static_cast<double>(s.batch);
  T* dz = call.operand<T>(Name::gradient);
  for (std::int64_t n = 0; n < s.batch; ++n, z += s.in_channels, dz += s.in_channels) {
    const int label = labels[n];
    const double peak = double{z[first_largest(z, s.in_channels)]};
    const double others = sum_of_others(z, s.in_channels, label, peak);
    const double all = others + std::exp(double{z[label]} - peak);
    // The gradient may lie in the memory of the logits: each is read before it is replaced.
    for (int c = 0; c < s.in_channels; ++c) {
      dz[c] = static_cast<T>(scale * (c == label ? -others : std::exp(double{z[c]} - peak)) / all);
    }
  }
}

}  // namespace

Judged judge(std::vector<double> logits, int classes, std::vector<std::uint8_t> labels) {
  Judged judged{std::vector<double>(labels.size()), std::vector<std::uint8_t>(labels.size())};
  double loss = 0, accuracy = 0;
  OpCall call;
  call.shape.batch = static_cast<std::int64_t>(labels.size());
  call.shape.in_channels = classes;
  call.precision = core::Precision::fp64;
  call.operands[Name::logits] = logits.data();
  call.operands[Name::labels] = labels.data();
  call.operands[Name::sample_losses] = judged.losses.data();
  call.operands[Name::predicted] = judged.predicted.data();
  call.operands[Name::loss] = &loss;
  call.operands[Name::accuracy] = &accuracy;
  forward<double>(call);
  return judged;
}

Variant reference_forward() {
  return reference_variant(Op::cross_entropy_forward, in_either_width<forward<float>, forward<double>>);
}
Variant reference_backward() {
  return reference_variant(Op::cross_entropy_backward, in_either_width<backward<float>, backward<double>>);
}

}  // namespace warpscope::ops::cross_entropy
