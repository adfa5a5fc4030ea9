#include "gpu/ops/dropout/dropout.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::dropout {
namespace {

/// "64x1x1x512, rate 0.5"
std::string describe(const OpShape& s) {
  const std::string images = sizes::describe_images(s);
  return s.dropout_rate > 0 ? fmt::format("{}, rate {}", images, s.dropout_rate) : images;
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::control, Access::read, Role::control, sizes::step_control},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};
constexpr std::array kBackward{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::control, Access::read, Role::control, sizes::step_control},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input, 0}};

}  // namespace

std::string refuses(const OpShape& shape) {
  if (shape.dropout_rate >= 0 && shape.dropout_rate < 1) return "";
  return fmt::format("a dropout rate is at least 0 and less than 1, not {}", shape.dropout_rate);
}

OpContract forward_contract() {
  return {.name = "dropout.forward",
          .summary = "x / (1 - rate), or 0 with probability rate",
          .operands = kForward,
          .flops = sizes::one_flop_each,
          .terms = sizes::one,
          .describe = describe,
          .variants = variants,
          .tests = forward_tests};
}

OpContract backward_contract() {
  return {.name = "dropout.backward",
          .summary = "dy / (1 - rate) where x was kept",
          .operands = kBackward,
          .flops = sizes::one_flop_each,
          .terms = sizes::one,
          .describe = describe,
          .variants = variants,
          .tests = backward_tests};
}

}  // namespace warpscope::ops::dropout
