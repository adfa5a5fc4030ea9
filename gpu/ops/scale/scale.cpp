#include "gpu/ops/scale/scale.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::scale {
namespace {

/// "64x1x1x10, times 0.125"
std::string describe(const OpShape& s) {
  const std::string images = sizes::describe_images(s);
  return s.factor == 1 ? images : fmt::format("{}, times {}", images, s.factor);
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};
constexpr std::array kBackward{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input, 0}};

}  // namespace

std::string refuses(const OpShape& shape) {
  if (std::isfinite(shape.factor) && shape.factor != 0) return "";
  return fmt::format("a factor is finite and not 0, this one is {}", shape.factor);
}

OpContract forward_contract() {
  return {.name = "scale.forward",
          .summary = "y = factor x",
          .operands = kForward,
          .flops = sizes::one_flop_each,
          .terms = sizes::one,
          .describe = describe,
          .variants = variants,
          .tests = forward_tests};
}

OpContract backward_contract() {
  return {.name = "scale.backward",
          .summary = "dx = factor dy",
          .operands = kBackward,
          .flops = sizes::one_flop_each,
          .terms = sizes::one,
          .describe = describe,
          .variants = variants,
          .tests = backward_tests};
}

}  // namespace warpscope::ops::scale
