#include "gpu/ops/bias/bias.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::bias {
namespace {

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::bias, Access::read, Role::weight, sizes::in_channels},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};

}  // namespace

OpContract forward_contract() {
  return {.name = "bias.forward",
          .summary = "y = x + b",
          .operands = kForward,
          .flops = sizes::one_flop_each,
          .terms = sizes::two_terms,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = forward_tests};
}

}  // namespace warpscope::ops::bias
