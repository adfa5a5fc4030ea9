// mixed_cross_entropy, variant `reference`: the formulas of mixed_cross_entropy.h, in double whatever the element
// type. Limits: none. Source: mixed_cross_entropy.h.

#include <cstdint>

#include "gpu/ops/mixed_cross_entropy/mixed_cross_entropy.h"
#include "gpu/ops/mixed_cross_entropy/mixed_host.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::mixed_cross_entropy {
namespace {

template <class T>
void forward_in_double(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* logits = call.operand<const T>(Name::logits);
  const auto* labels = call.operand<const std::uint8_t>(Name::labels);
  const auto shares = augment::shares_of<double>(*call.operand<const step::StepControl>(Name::control));
  auto* predicted = call.operand<std::uint8_t>(Name::predicted);
  double loss = 0;
  std::int64_t right = 0;
  for (std::int64_t n = 0; n < s.batch; ++n, logits += s.in_channels) {
    const auto z = [logits](int c) { return double{logits[c]}; };
    const auto peak = find_peak<double>(z, s.in_channels);
    const int own = labels[n], next = labels[augment::partner_of(n, s.batch)];
    const double image_loss = mixed_loss(z, s.in_channels, own, next, shares, peak);
    call.operand<T>(Name::sample_losses)[n] = static_cast<T>(image_loss);
    predicted[n] = static_cast<std::uint8_t>(peak.any_nan ? 0 : peak.place);
    loss += image_loss;
    right += predicted[n] == (shares.next_leads ? next : own) ? 1 : 0;
  }
  const auto images = static_cast<double>(s.batch);
  *call.operand<T>(Name::loss) = static_cast<T>(loss / images);
  *call.operand<T>(Name::accuracy) = static_cast<T>(static_cast<double>(right) / images);
}

template <class T>
void backward_in_double(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* logits = call.operand<const T>(Name::logits);
  const auto* labels = call.operand<const std::uint8_t>(Name::labels);
  const auto& control = *call.operand<const step::StepControl>(Name::control);
  const auto shares = augment::shares_of<double>(control);
  const double scale = double{control.loss_scale} / static_cast<double>(s.batch);
  T* gradient = call.operand<T>(Name::gradient);
  for (std::int64_t n = 0; n < s.batch; ++n, logits += s.in_channels, gradient += s.in_channels) {
    mixed_gradient([logits](int c) { return double{logits[c]}; }, s.in_channels, labels[n],
                   labels[augment::partner_of(n, s.batch)], shares, scale,
                   [gradient](int c, double value) { gradient[c] = static_cast<T>(value); });
  }
}

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::mixed_cross_entropy_forward,
                           in_either_width<forward_in_double<float>, forward_in_double<double>>);
}
Variant reference_backward() {
  return reference_variant(Op::mixed_cross_entropy_backward,
                           in_either_width<backward_in_double<float>, backward_in_double<double>>);
}

}  // namespace warpscope::ops::mixed_cross_entropy
