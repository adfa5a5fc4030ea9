// mixed_cross_entropy, variant `loops`: image by image, in FP32 whatever is stored. The losses of the batch are
// added with the lost digits carried along: a chain of 65,536 terms would be too rough. Limits: none on the shape;
// one thread. Source: mixed_cross_entropy.h; W. Kahan, "Further remarks on reducing truncation errors" (1965).

#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/mixed_cross_entropy/mixed_cross_entropy.h"
#include "gpu/ops/mixed_cross_entropy/mixed_host.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::mixed_cross_entropy {
namespace {

template <class T>
void forward_in_float(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* logits = call.operand<const T>(Name::logits);
  const auto* labels = call.operand<const std::uint8_t>(Name::labels);
  const auto shares = augment::shares_of<float>(*call.operand<const step::StepControl>(Name::control));
  float* image_losses = call.operand<float>(Name::sample_losses);
  auto* predicted = call.operand<std::uint8_t>(Name::predicted);
  float loss = 0;
  float lost = 0;
  std::int64_t right = 0;
  for (std::int64_t n = 0; n < s.batch; ++n, logits += s.in_channels) {
    const auto z = [logits](int c) { return to_float(logits[c]); };
    const auto peak = find_peak<float>(z, s.in_channels);
    const int own = labels[n], next = labels[augment::partner_of(n, s.batch)];
    image_losses[n] = mixed_loss(z, s.in_channels, own, next, shares, peak);
    predicted[n] = static_cast<std::uint8_t>(peak.any_nan ? 0 : peak.place);
    right += predicted[n] == (shares.next_leads ? next : own) ? 1 : 0;
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
void backward_in_float(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* logits = call.operand<const T>(Name::logits);
  const auto* labels = call.operand<const std::uint8_t>(Name::labels);
  const auto& control = *call.operand<const step::StepControl>(Name::control);
  const auto shares = augment::shares_of<float>(control);
  const float scale = control.loss_scale / static_cast<float>(s.batch);
  T* gradient = call.operand<T>(Name::gradient);
  for (std::int64_t n = 0; n < s.batch; ++n, logits += s.in_channels, gradient += s.in_channels) {
    mixed_gradient([logits](int c) { return to_float(logits[c]); }, s.in_channels, labels[n],
                   labels[augment::partner_of(n, s.batch)], shares, scale,
                   [gradient](int c, float value) { gradient[c] = from_float<T>(value); });
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
  return loops(Op::mixed_cross_entropy_forward,
               by_storage<forward_in_float<float>, forward_in_float<BFloat16>>);
}
Variant loops_backward() {
  return loops(Op::mixed_cross_entropy_backward,
               by_storage<backward_in_float<float>, backward_in_float<BFloat16>>);
}

}  // namespace warpscope::ops::mixed_cross_entropy
