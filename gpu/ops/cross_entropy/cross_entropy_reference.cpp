// cross_entropy and mixed_cross_entropy, variant `reference`: the formulas of cross_entropy.cpp, in double whatever the
// element type; without mixed images the share of an image's own label is 1. The largest exponential, which is 1, and
// the one of each class stay out of the sums, so that the loss and the gradient of an image that is all but certain
// keep their digits: log(1 + r) by log1p, and softmax - w as (1 - w) times the class's own share less w times that of
// the others. Limits: none. Source: cross_entropy.cpp.

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "gpu/ops/augment/mixup.h"
#include "gpu/ops/cross_entropy/cross_entropy.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::cross_entropy {
namespace {

using Shares = augment::Shares<double>;

template <bool Mixed>
Shares shares_of(const OpCall& call) {
  if (!Mixed) return {1, 0, false};
  return augment::shares_of<double>(*call.operand<const step::StepControl>(Name::control));
}

/// The label of image n, and of the one that it is mixed with.
std::pair<int, int> labels_of(const OpCall& call, std::int64_t n) {
  const auto* labels = call.operand<const std::uint8_t>(Name::labels);
  return {labels[n], labels[augment::partner_of(n, call.shape.batch)]};
}

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

template <class T, bool Mixed>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const Shares shares = shares_of<Mixed>(call);
  const T* z = call.operand<const T>(Name::logits);
  T* image_losses = call.operand<T>(Name::sample_losses);
  auto* predicted = call.operand<std::uint8_t>(Name::predicted);
  double loss = 0;
  std::int64_t right = 0;
  for (std::int64_t n = 0; n < s.batch; ++n, z += s.in_channels) {
    const auto [own, next] = labels_of(call, n);
    const int best = first_largest(z, s.in_channels);
    const double peak = double{z[best]};
    double image_loss = std::log1p(sum_of_others(z, s.in_channels, best, peak));
    image_loss += shares.own * (peak - double{z[own]});
    if (Mixed) image_loss += shares.next * (peak - double{z[next]});
    image_losses[n] = static_cast<T>(image_loss);
    predicted[n] = has_nan(z, s.in_channels) ? std::uint8_t{0} : static_cast<std::uint8_t>(best);
    loss += image_loss;
    right += predicted[n] == (shares.next_leads ? next : own) ? 1 : 0;
  }
  const auto images = static_cast<double>(s.batch);
  *call.operand<T>(Name::loss) = static_cast<T>(loss / images);
  *call.operand<T>(Name::accuracy) = static_cast<T>(static_cast<double>(right) / images);
}

template <class T, bool Mixed>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const Shares shares = shares_of<Mixed>(call);
  const T* logits = call.operand<const T>(Name::logits);
  const double scale =
      double{call.operand<const step::StepControl>(Name::control)->loss_scale} / static_cast<double>(s.batch);
  T* dz = call.operand<T>(Name::gradient);
  for (std::int64_t n = 0; n < s.batch; ++n, logits += s.in_channels, dz += s.in_channels) {
    const std::vector<double> z(logits,
                                logits + s.in_channels);  // the gradient may lie in the memory of the logits
    const auto [own, next] = labels_of(call, n);
    const int best = first_largest(z.data(), s.in_channels);
    const double peak = z[static_cast<std::size_t>(best)];
    const double all = 1 + sum_of_others(z.data(), s.in_channels, best, peak);
    for (int c = 0; c < s.in_channels; ++c) {
      const double weight = (c == own ? shares.own : 0) + (c == next ? shares.next : 0);
      double value = (1 - weight) * std::exp(z[static_cast<std::size_t>(c)] - peak);
      if (weight != 0) value -= weight * sum_of_others(z.data(), s.in_channels, c, peak);
      dz[c] = static_cast<T>(scale * value / all);
    }
  }
}

template <bool Mixed>
std::vector<Variant> references(Op forward_op, Op backward_op) {
  return {reference_variant(forward_op, in_either_width<forward<float, Mixed>, forward<double, Mixed>>),
          reference_variant(backward_op, in_either_width<backward<float, Mixed>, backward<double, Mixed>>)};
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
  forward<double, false>(call);
  return judged;
}

std::vector<Variant> reference() {
  std::vector<Variant> made = references<false>(Op::cross_entropy_forward, Op::cross_entropy_backward);
  for (Variant& each : references<true>(Op::mixed_cross_entropy_forward, Op::mixed_cross_entropy_backward)) {
    made.push_back(std::move(each));
  }
  return made;
}

}  // namespace warpscope::ops::cross_entropy
