// The Gaussian error linear unit, exact: with Phi and phi the standard normal distribution and its density,
//
//   forward   y = x Phi(x) = x / 2 (1 + erf(x / sqrt(2)))
//   backward  dx = dy (Phi(x) + x phi(x)),  phi(x) = exp(-x^2 / 2) / sqrt(2 pi)
//
// NaN stays NaN, and of minus infinity both are NaN (0 times infinity). Precisions of 16 bits compute in FP32. forward
// may run in place of x, backward of dy; backward reads x, the input of forward. OpShape: batch, height, width,
// in_channels. Source: D. Hendrycks, K. Gimpel, "Gaussian error linear units (GELUs)" (2016); PyTorch's default.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

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
          .describe = sizes::describe_images};
}

OpContract backward_contract() {
  return {.name = "gelu.backward",
          .summary = "dy (Phi(x) + x phi(x))",
          .operands = kBackward,
          .flops = backward_flops,
          .terms = sizes::two_terms,
          .describe = sizes::describe_images};
}

WARPSCOPE_VARIANTS(reference_forward(), reference_backward(), loops_forward(), loops_backward(),
                   onednn_forward(),
                   onednn_backward() WARPSCOPE_IF_CUDA(, naive_forward(), naive_backward(),
                                                       vectorized_forward(), vectorized_backward()))

}  // namespace warpscope::ops::gelu
