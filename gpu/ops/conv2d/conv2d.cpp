#include "gpu/ops/conv2d/conv2d.h"

#include <array>
#include <numeric>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d {
namespace {

std::int64_t taps(const OpShape& s) {
  return std::int64_t{s.kernel_height} * s.kernel_width;
}
std::int64_t weights(const OpShape& s) {
  return taps(s) * s.in_channels * s.out_channels;
}
double flops(const OpShape& s) {
  return 2.0 * static_cast<double>(sizes::output(s)) * static_cast<double>(taps(s) * s.in_channels);
}
double bias_flops(const OpShape& s) {
  return static_cast<double>(sizes::output(s));
}
std::int64_t forward_terms(const OpShape& s) {
  return taps(s) * s.in_channels;
}
/// The most taps of a kernel side that read the same input pixel: for steps of two pixels every other one.
std::int64_t meeting_taps(const OpShape& s, int kernel) {
  const int every = s.stride / std::gcd(s.stride, s.dilation);
  return (kernel + every - 1) / every;
}
std::int64_t backward_input_terms(const OpShape& s) {
  return meeting_taps(s, s.kernel_height) * meeting_taps(s, s.kernel_width) * s.out_channels;
}

/// Each output pixel meets only ((k + 1) / 2)^2 different pixels of an input that was upsampled, of the k^2
/// that its formula names: 4 of 9 for 3x3 kernels (fused/fused.h). Of one-hot characters one channel of each pixel is
/// not zero, and that is 1: an addition (fused/rows.h).
double least_flops(const OpShape& s) {
  if (s.covered.has(Op::one_hot_forward)) return flops(s) / (2.0 * s.in_channels);
  const bool upsampled = s.covered.has(Op::upsample2d_forward) || s.covered.has(Op::upsample2d_backward);
  if (!upsampled) return flops(s);
  const int met = ((s.kernel_height + 1) / 2) * ((s.kernel_width + 1) / 2);
  return flops(s) * met / static_cast<double>(taps(s));
}

std::string describe_layer(const OpShape& s) {
  std::string text = fmt::format("{}x{}x{}x{} -> {}, {}x{}", s.batch, s.height, s.width, s.in_channels,
                                 s.out_channels, s.kernel_height, s.kernel_width);
  if (s.stride != 1) text += fmt::format(", stride {}", s.stride);
  if (s.dilation != 1) text += fmt::format(", dilation {}", s.dilation);
  if (s.valid) text += ", valid";
  return text;
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::weights, Access::read, Role::weight, weights},
                              Operand{Name::output, Access::write, Role::activation, sizes::output}};
constexpr std::array kBackwardInput{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::output},
    Operand{Name::weights, Access::read, Role::weight, weights},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input}};
constexpr std::array kBackwardWeights{
    Operand{Name::input, Access::read, Role::activation, sizes::input},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::output},
    Operand{Name::weights_gradient, Access::write, Role::gradient, weights}};
constexpr std::array kBackwardBias{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::output},
    Operand{Name::bias_gradient, Access::write, Role::gradient, sizes::out_channels}};

}  // namespace

std::string refuses_unless_plain(const OpShape& shape) {
  return is_plain(shape) ? "" : "takes stride 1, no dilation and same padding alone";
}

OpContract forward_contract() {
  return {.name = "conv2d.forward",
          .summary = "y = x * w",
          .operands = kForward,
          .flops = flops,
          .terms = forward_terms,
          .describe = describe_layer,
          .variants = variants,
          .tests = forward_tests,
          .work = Work::products,
          .least_flops = least_flops};
}

OpContract backward_input_contract() {
  return {.name = "conv2d.backward_input",
          .summary = "gradient of the input",
          .operands = kBackwardInput,
          .flops = flops,
          .terms = backward_input_terms,
          .describe = describe_layer,
          .variants = variants,
          .tests = backward_input_tests,
          .work = Work::products,
          .least_flops = least_flops};
}

OpContract backward_weights_contract() {
  return {.name = "conv2d.backward_weights",
          .summary = "gradient of the weights",
          .operands = kBackwardWeights,
          .flops = flops,
          .terms = sizes::output_pixels,
          .describe = describe_layer,
          .variants = variants,
          .tests = backward_weights_tests,
          .work = Work::products,
          .least_flops = least_flops};
}

OpContract backward_bias_contract() {
  return {.name = "conv2d.backward_bias",
          .summary = "gradient of the bias",
          .operands = kBackwardBias,
          .flops = bias_flops,
          .terms = sizes::output_pixels,
          .describe = describe_layer,
          .variants = variants,
          .tests = backward_bias_tests};
}

}  // namespace warpscope::ops::conv2d
