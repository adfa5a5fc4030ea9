#include "gpu/ops/gelu/gelu.h"

#include <array>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::gelu {
namespace {

// erf and exp count as one each.
double forward_flops(const OpShape& s) {
  constexpr double kEach = 5;  // x / sqrt(2), erf, 1 +, x / 2, their product
  return kEach * static_cast<double>(sizes::input(s));
}
double backward_flops(const OpShape& s) {
  constexpr double kEach =
      11;  // the 4 of Phi, the 5 of x phi (x^2, / -2, exp, / sqrt(2 pi), times x), the sum, times dy
  return kEach * static_cast<double>(sizes::input(s));
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};
constexpr std::array kBackward{
    Operand{Name::input, Access::read, Role::activation, sizes::input},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input, 1}};

}  // namespace

OpContract forward_contract() {
  return {.name = "gelu.forward",
          .summary = "y = x Phi(x)",
          .operands = kForward,
          .flops = forward_flops,
          .terms = sizes::two_terms,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = forward_tests};
}

OpContract backward_contract() {
  return {.name = "gelu.backward",
          .summary = "dy (Phi(x) + x phi(x))",
          .operands = kBackward,
          .flops = backward_flops,
          .terms = sizes::two_terms,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = backward_tests};
}

}  // namespace warpscope::ops::gelu
