// Dropout with scaling in training (inverted), so that in inference there is no op at all.
//
//   forward   y[i] = x[i] m[i] / (1 - rate)      m[i] in {0, 1}, 0 with probability `rate`, each for itself
//   backward  dx[i] = dy[i] m[i] / (1 - rate)    with the same m, drawn again: no mask is stored
//
// m[i] is a function only of (seed, step, micro-batch, salt, i) (mask.h): seed, step and micro-batch come from
// StepControl, the salt is a number of the layer's own, i counts the elements in memory order. So every variant, on any
// device, in any precision, and a run that is gone on with draw the same mask. A NaN or an infinity in x is NaN in y
// where m is 0. forward may run in place of x, backward of dy. OpShape: batch, height, width, in_channels, dropout_rate
// in [0, 1), salt. Source: N. Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting"
// (2014).

#include "gpu/ops/dropout/dropout.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::dropout {
namespace {

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::control, Access::read, Role::control, sizes::step_control},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};
constexpr std::array kBackward{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::control, Access::read, Role::control, sizes::step_control},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input, 0}};

}  // namespace

std::string refuses(const OpShape& shape) {
  if (shape.dropout_rate >= 0 && shape.dropout_rate < 1) return "";
  return fmt::format("a dropout rate is at least 0 and less than 1, not {}", shape.dropout_rate);
}

OpContract forward_contract() {
  return sizes::each_element("dropout.forward", "x / (1 - rate), or 0 with probability rate", kForward,
                             {Parameter::dropout_rate, Parameter::salt});
}

OpContract backward_contract() {
  return sizes::each_element("dropout.backward", "dy / (1 - rate) where x was kept", kBackward,
                             {Parameter::dropout_rate, Parameter::salt});
}

WARPSCOPE_VARIANTS(reference_forward(), reference_backward(), loops_forward(),
                   loops_backward() WARPSCOPE_IF_CUDA(, naive_forward(), naive_backward(),
                                                      vectorized_forward(), vectorized_backward()))

}  // namespace warpscope::ops::dropout
