#include "gpu/ops/mixed_cross_entropy/mixed_cross_entropy.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::mixed_cross_entropy {
namespace {

double flops(const OpShape& s) {
  return 4.0 * static_cast<double>(sizes::features_in(s));
}
/// The share comes of a logarithm and an exponential, whose errors are those of a few more terms.
std::int64_t terms(const OpShape& s) {
  constexpr std::int64_t kOfShare = 16;
  return s.in_channels + kOfShare;
}
std::string describe_logits(const OpShape& s) {
  return fmt::format("{}x{}", s.batch, s.in_channels);
}

constexpr std::array kForward{Operand{Name::logits, Access::read, Role::activation, sizes::features_in},
                              Operand{Name::labels, Access::read, Role::byte, sizes::batch},
                              Operand{Name::control, Access::read, Role::control, sizes::step_control},
                              Operand{Name::sample_losses, Access::write, Role::scalar, sizes::batch},
                              Operand{Name::predicted, Access::write, Role::byte, sizes::batch},
                              Operand{Name::loss, Access::write, Role::scalar, sizes::one},
                              Operand{Name::accuracy, Access::write, Role::scalar, sizes::one}};
constexpr std::array kBackward{
    Operand{Name::logits, Access::read, Role::activation, sizes::features_in},
    Operand{Name::labels, Access::read, Role::byte, sizes::batch},
    Operand{Name::control, Access::read, Role::control, sizes::step_control},
    Operand{Name::gradient, Access::write, Role::activation, sizes::features_in, 0}};

}  // namespace

OpContract forward_contract() {
  return {.name = "mixed_cross_entropy.forward",
          .summary = "softmax cross-entropy with the labels of two mixed images, by their shares",
          .operands = kForward,
          .flops = flops,
          .terms = terms,
          .describe = describe_logits,
          .variants = variants,
          .tests = forward_tests};
}

OpContract backward_contract() {
  return {.name = "mixed_cross_entropy.backward",
          .summary = "(softmax - shares of both labels) / batch, times the loss scale",
          .operands = kBackward,
          .flops = flops,
          .terms = terms,
          .describe = describe_logits,
          .variants = variants,
          .tests = backward_tests};
}

}  // namespace warpscope::ops::mixed_cross_entropy
