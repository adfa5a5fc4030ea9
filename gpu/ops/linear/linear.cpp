#include "gpu/ops/linear/linear.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::linear {
namespace {

std::int64_t weights(const OpShape& s) {
  return std::int64_t{s.in_channels} * s.out_channels;
}
double flops(const OpShape& s) {
  return 2.0 * static_cast<double>(s.batch) * static_cast<double>(weights(s));
}
double bias_flops(const OpShape& s) {
  return static_cast<double>(sizes::features_out(s));
}
std::string describe_layer(const OpShape& s) {
  return fmt::format("{}x{} -> {}", s.batch, s.in_channels, s.out_channels);
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::features_in},
                              Operand{Name::weights, Access::read, Role::weight, weights},
                              Operand{Name::output, Access::write, Role::activation, sizes::features_out}};
constexpr std::array kBackwardInput{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::features_out},
    Operand{Name::weights, Access::read, Role::weight, weights},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::features_in}};
constexpr std::array kBackwardWeights{
    Operand{Name::input, Access::read, Role::activation, sizes::features_in},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::features_out},
    Operand{Name::weights_gradient, Access::write, Role::gradient, weights}};
constexpr std::array kBackwardBias{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::features_out},
    Operand{Name::bias_gradient, Access::write, Role::gradient, sizes::out_channels}};

}  // namespace

OpContract forward_contract() {
  return {.name = "linear.forward",
          .summary = "y = x W^T",
          .operands = kForward,
          .flops = flops,
          .terms = sizes::in_channels,
          .describe = describe_layer,
          .variants = variants,
          .tests = forward_tests,
          .work = Work::products};
}

OpContract backward_input_contract() {
  return {.name = "linear.backward_input",
          .summary = "gradient of the input",
          .operands = kBackwardInput,
          .flops = flops,
          .terms = sizes::out_channels,
          .describe = describe_layer,
          .variants = variants,
          .tests = backward_input_tests,
          .work = Work::products};
}

OpContract backward_weights_contract() {
  return {.name = "linear.backward_weights",
          .summary = "gradient of the weights",
          .operands = kBackwardWeights,
          .flops = flops,
          .terms = sizes::batch,
          .describe = describe_layer,
          .variants = variants,
          .tests = backward_weights_tests,
          .work = Work::products};
}

OpContract backward_bias_contract() {
  return {.name = "linear.backward_bias",
          .summary = "gradient of the bias",
          .operands = kBackwardBias,
          .flops = bias_flops,
          .terms = sizes::batch,
          .describe = describe_layer,
          .variants = variants,
          .tests = backward_bias_tests};
}

}  // namespace warpscope::ops::linear
