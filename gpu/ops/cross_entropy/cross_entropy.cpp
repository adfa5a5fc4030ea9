// Softmax cross-entropy of a batch of logits (as torch.nn.functional.cross_entropy, reduction "mean").
//
//   forward   image_losses[n] = CE(z[n], label[n]);   loss = 1/N sum_n image_losses[n]
//             CE(z, y) = log(sum_c exp(z[c] - max_c z[c])) + max_c z[c] - z[y]
//             predicted[n] = the first c with the largest z[n,c] (0 if a logit of image n is NaN)
//             accuracy = 1/N |{n : predicted[n] = label[n]}|
//   backward  dz[n,c] = control.loss_scale (softmax(z[n])[c] - [c = label[n]]) / N
//
// mixed_cross_entropy: of a batch whose images are mixed (batch.augment, augment/mixup.h), that of both labels, each by
// its share:
//
//   forward   image_losses[n] = S CE(z[n], label[n]) + (1 - S) CE(z[n], label[m]),   m = (n + 1) mod N
//             accuracy = 1/N |{n : predicted[n] = the label of the larger share}|;   the rest as above
//   backward  dz[n,c] = control.loss_scale (softmax(z[n])[c] - S [c = label[n]] - (1 - S) [c = label[m]]) / N
//
// S is the share that control draws for the batch, 1 where control.mixup is 0. z: (N, C), C = OpShape::in_channels
// from 1 to 256; label and predicted: one byte an image. Labels are below C. Sums are taken in FP32 in a fixed
// order: the result is deterministic. OpShape: batch, in_channels. Source: H. Zhang et al., "mixup: beyond empirical
// risk minimization" (2018).

#include <array>
#include <utility>

#include <fmt/format.h>

#include "gpu/ops/cross_entropy/labels.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::cross_entropy {
namespace {

double flops(const OpShape& s) {
  return 4.0 * static_cast<double>(sizes::features_in(s));
}
/// The share comes of a logarithm and an exponential, whose errors are those of a few more terms.
std::int64_t mixed_terms(const OpShape& s) {
  constexpr std::int64_t kOfShare = 16;
  return s.in_channels + kOfShare;
}
std::string describe_logits(const OpShape& s) {
  return fmt::format("{}x{}", s.batch, s.in_channels);
}

constexpr Operand kLogits{Name::logits, Access::read, Role::activation, sizes::features_in};
constexpr Operand kLabels{Name::labels, Access::read, Role::byte, sizes::batch};
constexpr Operand kControl{Name::control, Access::read, Role::control, sizes::step_control};
constexpr Operand kSampleLosses{Name::sample_losses, Access::write, Role::scalar, sizes::batch};
constexpr Operand kPredicted{Name::predicted, Access::write, Role::byte, sizes::batch};
constexpr Operand kLoss{Name::loss, Access::write, Role::scalar, sizes::one};
constexpr Operand kAccuracy{Name::accuracy, Access::write, Role::scalar, sizes::one};

constexpr std::array kForward{kLogits, kLabels, kSampleLosses, kPredicted, kLoss, kAccuracy};
constexpr std::array kMixedForward{kLogits, kLabels, kControl, kSampleLosses, kPredicted, kLoss, kAccuracy};
constexpr std::array kBackward{
    kLogits, kLabels, kControl,
    Operand{Name::gradient, Access::write, Role::activation, sizes::features_in, 0}};

}  // namespace

OpContract forward_contract() {
  return {.name = "cross_entropy.forward",
          .summary = "softmax cross-entropy, predicted classes, accuracy",
          .operands = kForward,
          .flops = flops,
          .terms = sizes::in_channels,
          .describe = describe_logits};
}

OpContract mixed_forward_contract() {
  return {.name = "mixed_cross_entropy.forward",
          .summary = "softmax cross-entropy with the labels of two mixed images, by their shares",
          .operands = kMixedForward,
          .flops = flops,
          .terms = mixed_terms,
          .describe = describe_logits};
}

OpContract backward_contract() {
  return {.name = "cross_entropy.backward",
          .summary = "(softmax - one-hot) / batch, times the loss scale",
          .operands = kBackward,
          .flops = flops,
          .terms = sizes::in_channels,
          .describe = describe_logits};
}

OpContract mixed_backward_contract() {
  return {.name = "mixed_cross_entropy.backward",
          .summary = "(softmax - shares of both labels) / batch, times the loss scale",
          .operands = kBackward,
          .flops = flops,
          .terms = mixed_terms,
          .describe = describe_logits};
}

// Each is defined in the file named for its variant, once for each kind of labels.
std::vector<Variant> reference();
template <class Targets>
std::vector<Variant> loops();
template <class Targets>
std::vector<Variant> naive();
template <class Targets>
std::vector<Variant> warp_shuffle();

std::vector<Variant> variants() {
  std::vector<Variant> list = reference();
  for (const auto make : {
         loops<OneLabel>, loops<MixedLabels>,
#if WARPSCOPE_HAVE_CUDA
             naive<OneLabel>, naive<MixedLabels>, warp_shuffle<OneLabel>, warp_shuffle<MixedLabels>,
#endif
       }) {
    for (Variant& each : make()) list.push_back(std::move(each));
  }
  return list;
}

}  // namespace warpscope::ops::cross_entropy
