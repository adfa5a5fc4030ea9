#include "gpu/ops/add/add.h"

#include <array>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::add {
namespace {

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::addend, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};

}  // namespace

OpContract forward_contract() {
  return {.name = "add.forward",
          .summary = "y = a + b",
          .operands = kForward,
          .flops = sizes::one_flop_each,
          .terms = sizes::two_terms,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = forward_tests};
}

}  // namespace warpscope::ops::add
