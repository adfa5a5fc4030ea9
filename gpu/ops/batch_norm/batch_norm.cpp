#include "gpu/ops/batch_norm/batch_norm.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::batch_norm {
namespace {

std::int64_t statistics(const OpShape& s) {
  return 2 * sizes::in_channels(s);
}

double forward_flops(const OpShape& s) {
  return 7.0 * static_cast<double>(sizes::input(s));
}
double infer_flops(const OpShape& s) {
  return 3.0 * static_cast<double>(sizes::input(s));
}
double backward_flops(const OpShape& s) {
  return 10.0 * static_cast<double>(sizes::input(s));
}
double track_flops(const OpShape& s) {
  return 10.0 * static_cast<double>(sizes::in_channels(s));
}

/// Two sums over the positions.
std::int64_t two_sums(const OpShape& s) {
  return 2 * sizes::pixels(s);
}

std::string describe_track(const OpShape& s) {
  return fmt::format("{} channels of {} values", s.in_channels, sizes::pixels(s));
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::weights, Access::read, Role::weight, sizes::in_channels},
                              Operand{Name::bias, Access::read, Role::weight, sizes::in_channels},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0},
                              Operand{Name::statistics, Access::write, Role::scalar, statistics}};
constexpr std::array kInfer{
    Operand{Name::input, Access::read, Role::activation, sizes::input},
    Operand{Name::weights, Access::read, Role::weight, sizes::in_channels},
    Operand{Name::bias, Access::read, Role::weight, sizes::in_channels},
    Operand{Name::running_mean, Access::read, Role::parameter, sizes::in_channels},
    Operand{Name::running_variance, Access::read, Role::parameter, sizes::in_channels},
    Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};
constexpr std::array kBackward{
    Operand{Name::input, Access::read, Role::activation, sizes::input},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::weights, Access::read, Role::weight, sizes::in_channels},
    Operand{Name::statistics, Access::read, Role::scalar, statistics},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input, 1},
    Operand{Name::weights_gradient, Access::write, Role::gradient, sizes::in_channels},
    Operand{Name::bias_gradient, Access::write, Role::gradient, sizes::in_channels}};
constexpr std::array kTrack{
    Operand{Name::statistics, Access::read, Role::scalar, statistics},
    Operand{Name::control, Access::read, Role::control, sizes::step_control},
    Operand{Name::running_mean, Access::update, Role::parameter, sizes::in_channels},
    Operand{Name::running_variance, Access::update, Role::parameter, sizes::in_channels}};

}  // namespace

OpContract forward_contract() {
  return {.name = "batch_norm.forward",
          .summary = "y = (x - mean) / deviation gamma + beta, over the batch",
          .operands = kForward,
          .flops = forward_flops,
          .terms = sizes::pixels,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = forward_tests};
}

OpContract infer_contract() {
  return {.name = "batch_norm.infer",
          .summary = "the same with running mean and variance",
          .operands = kInfer,
          .flops = infer_flops,
          .terms = sizes::two_terms,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = infer_tests};
}

OpContract backward_contract() {
  return {.name = "batch_norm.backward",
          .summary = "gradients of input, gamma and beta",
          .operands = kBackward,
          .flops = backward_flops,
          .terms = two_sums,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = backward_tests};
}

OpContract track_contract() {
  return {.name = "batch_norm.track",
          .summary = "running mean and variance, a tenth towards the batch's",
          .operands = kTrack,
          .flops = track_flops,
          .terms = sizes::two_terms,
          .describe = describe_track,
          .variants = variants,
          .tests = track_tests,
          .scope = Scope::parameters};
}

}  // namespace warpscope::ops::batch_norm
