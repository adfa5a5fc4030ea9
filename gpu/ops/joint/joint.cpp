#include "gpu/ops/joint/joint.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

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
          .terms = sizes::one,
          .describe = describe_logits,
          .variants = variants,
          .tests = weigh_tests};
}

}  // namespace warpscope::ops::joint
