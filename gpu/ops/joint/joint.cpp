// joint.weigh: what a head on the latents adds to the objective of a network that reconstructs,
//
//   objective = mse + L cross_entropy,   L = control.joint,
//
// so the gradient of the head's logits is multiplied by L, which the device reads: another L needs no other graph.
//
//   dz[n,c] = control.joint dy[n,c]
//   loss = head_loss if head_loss is not finite, else as it was
//
// The second line stops updates (step::skips_update) after a cross-entropy that is no number, as after such an
// error. May run in place of dy. dy holds the loss scale already. OpShape: batch, in_channels (classes).

#include <array>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::joint {
namespace {

double flops(const OpShape& s) {
  return static_cast<double>(sizes::features_in(s));
}
std::string describe_logits(const OpShape& s) {
  return fmt::format("{}x{}", s.batch, s.in_channels);
}

constexpr std::array kWeigh{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::features_in},
    Operand{Name::control, Access::read, Role::control, sizes::step_control},
    Operand{Name::head_loss, Access::read, Role::scalar, sizes::one},
    Operand{Name::loss, Access::update, Role::scalar, sizes::one},
    Operand{Name::gradient, Access::write, Role::activation, sizes::features_in, 0}};

}  // namespace

OpContract weigh_contract() {
  return {.name = "joint.weigh",
          .summary = "the share of the head's loss in the objective",
          .operands = kWeigh,
          .flops = flops,
          .describe = describe_logits};
}

WARPSCOPE_VARIANTS(reference_weigh(), loops_weigh() WARPSCOPE_IF_CUDA(, naive_weigh()))

}  // namespace warpscope::ops::joint
