// Multiplication by a constant, for instance of logits that a linear layer makes too large:
//
//   forward   y = factor x
//   backward  dx = factor dy
//
// NaN stays NaN. Precisions of 16 bits multiply in FP32. forward may run in place of x, backward of dy. OpShape: batch,
// height, width, in_channels, factor, which is finite and not 0. Source: the formula.

#include "gpu/ops/scale/scale.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::scale {
namespace {

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
  return sizes::each_element("scale.forward", "y = factor x", kForward, {Parameter::factor});
}

OpContract backward_contract() {
  return sizes::each_element("scale.backward", "dx = factor dy", kBackward, {Parameter::factor});
}

WARPSCOPE_VARIANTS(reference_forward(), reference_backward(), loops_forward(),
                   loops_backward() WARPSCOPE_IF_CUDA(, naive_forward(), naive_backward(),
                                                      vectorized_forward(), vectorized_backward()))

}  // namespace warpscope::ops::scale
