// Layer normalization over the channels of each position (n,h,w), as torch.nn.LayerNorm(C) of images whose
// channels come last (J. Ba, J. Kiros, G. Hinton, "Layer normalization", 2016).
//
//   forward           mean = 1/C sum_c x[c];  r = 1 / sqrt(1/C sum_c (x[c] - mean)^2 + 1e-5)
//                     y[c] = (x[c] - mean) r gamma[c] + beta[c]
//   backward_input    xn[c] = (x[c] - mean) r;  g[c] = dy[c] gamma[c]
//                     dx[c] = r (g[c] - 1/C sum_k g[k] - xn[c] 1/C sum_k g[k] xn[k])
//   backward_weights  dgamma[c] = sum_(n,h,w) dy[c] xn[c];  dbeta[c] = sum_(n,h,w) dy[c]
//
// x, y, dx, dy: (N,H,W,C). `weights` is gamma, `bias` is beta: (C). `statistics`: the means of all positions and
// then the r of all: (2,N,H,W), FP32 in every precision, as sums and gradients of parameters are. y may lie in
// the memory of x, dx in that of dy. Sums are taken in a fixed order: the result is deterministic. One channel
// is its own mean, so y is beta; NaN and infinities make all channels of their position NaN. OpShape: batch,
// height, width, in_channels.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

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
          .describe = sizes::describe_images};
}

OpContract backward_input_contract() {
  return {.name = "layer_norm.backward_input",
          .summary = "gradient of the input, from the saved statistics",
          .operands = kBackwardInput,
          .flops = backward_input_flops,
          .terms = two_sums,
          .describe = sizes::describe_images};
}

OpContract backward_weights_contract() {
  return {.name = "layer_norm.backward_weights",
          .summary = "gradients of gamma and beta, sums over positions",
          .operands = kBackwardWeights,
          .flops = backward_weights_flops,
          .terms = sizes::pixels,
          .describe = sizes::describe_images};
}

WARPSCOPE_VARIANTS(reference_forward(), reference_backward_input(), reference_backward_weights(),
                   loops_forward(), loops_backward_input(),
                   loops_backward_weights()
                       WARPSCOPE_IF_CUDA(, naive_forward(), naive_backward_input(), naive_backward_weights(),
                                         warp_shuffle_forward(), warp_shuffle_backward_input(),
                                         warp_shuffle_backward_weights(),
                                         warp_shuffle_fused_backward_weights(), pooled_forward(),
                                         pooled_backward_weights()))

}  // namespace warpscope::ops::layer_norm
