#include "gpu/ops/relu/relu.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::relu {
namespace {

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};
constexpr std::array kBackward{
    Operand{Name::output, Access::read, Role::activation, sizes::input},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input, 1}};

}  // namespace

OpContract forward_contract() {
  return {.name = "relu.forward",
          .summary = "y = max(x, 0)",
          .operands = kForward,
          .flops = sizes::one_flop_each,
          .terms = sizes::one,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = forward_tests};
}

OpContract backward_contract() {
  return {.name = "relu.backward",
          .summary = "dy where y > 0",
          .operands = kBackward,
          .flops = sizes::one_flop_each,
          .terms = sizes::one,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = backward_tests};
}

}  // namespace warpscope::ops::relu
