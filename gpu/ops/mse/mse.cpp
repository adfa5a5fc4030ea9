#include "gpu/ops/mse/mse.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::mse {
namespace {

double forward_flops(const OpShape& s) {
  return 3.0 * static_cast<double>(sizes::input(s));
}
double backward_flops(const OpShape& s) {
  return 2.0 * static_cast<double>(sizes::input(s));
}

constexpr std::array kForward{Operand{Name::prediction, Access::read, Role::activation, sizes::input},
                              Operand{Name::target, Access::read, Role::activation, sizes::input},
                              Operand{Name::sample_losses, Access::write, Role::scalar, sizes::batch},
                              Operand{Name::loss, Access::write, Role::scalar, sizes::one}};
constexpr std::array kBackward{Operand{Name::prediction, Access::read, Role::activation, sizes::input},
                               Operand{Name::target, Access::read, Role::activation, sizes::input},
                               Operand{Name::control, Access::read, Role::control, sizes::step_control},
                               Operand{Name::gradient, Access::write, Role::activation, sizes::input, 0}};

}  // namespace

OpContract forward_contract() {
  return {.name = "mse.forward",
          .summary = "mean squared error of each image and of the batch",
          .operands = kForward,
          .flops = forward_flops,
          .terms = sizes::input,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = forward_tests};
}

OpContract backward_contract() {
  return {.name = "mse.backward",
          .summary = "2 (y - t) / elements, times the loss scale",
          .operands = kBackward,
          .flops = backward_flops,
          .terms = sizes::two_terms,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = backward_tests};
}

}  // namespace warpscope::ops::mse
