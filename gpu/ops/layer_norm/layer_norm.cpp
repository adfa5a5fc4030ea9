#include "gpu/ops/layer_norm/layer_norm.h"

#include <array>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::layer_norm {
namespace {

std::int64_t statistics(const OpShape& s) {
  return 2 * sizes::pixels(s);
}

double forward_flops(const OpShape& s) {
  return 7.0 * static_cast<double>(sizes::input(s));
}
double backward_input_flops(const OpShape& s) {
  return 10.0 * static_cast<double>(sizes::input(s));
}
double backward_weights_flops(const OpShape& s) {
  return 5.0 * static_cast<double>(sizes::input(s));
}

/// Two sums over the channels.
std::int64_t two_sums(const OpShape& s) {
  return 2 * sizes::in_channels(s);
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::weights, Access::read, Role::weight, sizes::in_channels},
                              Operand{Name::bias, Access::read, Role::weight, sizes::in_channels},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0},
                              Operand{Name::statistics, Access::write, Role::scalar, statistics}};
constexpr std::array kBackwardInput{
    Operand{Name::input, Access::read, Role::activation, sizes::input},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::weights, Access::read, Role::weight, sizes::in_channels},
    Operand{Name::statistics, Access::read, Role::scalar, statistics},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input, 1}};
constexpr std::array kBackwardWeights{
    Operand{Name::input, Access::read, Role::activation, sizes::input},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::statistics, Access::read, Role::scalar, statistics},
    Operand{Name::weights_gradient, Access::write, Role::gradient, sizes::in_channels},
    Operand{Name::bias_gradient, Access::write, Role::gradient, sizes::in_channels}};

}  // namespace

OpContract forward_contract() {
  return {.name = "layer_norm.forward",
          .summary = "y = (x - mean) / deviation gamma + beta, over channels",
          .operands = kForward,
          .flops = forward_flops,
          .terms = sizes::in_channels,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = forward_tests};
}

OpContract backward_input_contract() {
  return {.name = "layer_norm.backward_input",
          .summary = "gradient of the input, from the saved statistics",
          .operands = kBackwardInput,
          .flops = backward_input_flops,
          .terms = two_sums,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = backward_input_tests};
}

OpContract backward_weights_contract() {
  return {.name = "layer_norm.backward_weights",
          .summary = "gradients of gamma and beta, sums over positions",
          .operands = kBackwardWeights,
          .flops = backward_weights_flops,
          .terms = sizes::pixels,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = backward_weights_tests};
}

}  // namespace warpscope::ops::layer_norm
