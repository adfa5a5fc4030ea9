#include "gpu/ops/one_hot/one_hot.h"

#include <array>
#include <string>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::one_hot {
namespace {

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::pixels},
                              Operand{Name::output, Access::write, Role::activation, sizes::output}};

std::string describe(const OpShape& s) {
  return fmt::format("{}x{}x{}x1 -> {}", s.batch, s.height, s.width, s.out_channels);
}

}  // namespace

OpContract forward_contract() {
  return {.name = "one_hot.forward",
          .summary = "a channel for each character, 1 where the text has it",
          .operands = kForward,
          .flops = sizes::no_flops,
          .terms = sizes::two_terms,
          .describe = describe,
          .variants = variants,
          .tests = forward_tests};
}

}  // namespace warpscope::ops::one_hot
