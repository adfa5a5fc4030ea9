// ReLU. forward: y = max(x, 0), NaN stays NaN. backward: dx = dy where y > 0, else 0 (as PyTorch: the
// gradient at 0 is 0). Both may run in place. OpShape: batch, height, width, in_channels.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::relu {
namespace {

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};
constexpr std::array kBackward{
    Operand{Name::output, Access::read, Role::activation, sizes::input},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input, 1}};

}  // namespace

OpContract forward_contract() {
  return sizes::each_element("relu.forward", "y = max(x, 0)", kForward);
}

OpContract backward_contract() {
  return sizes::each_element("relu.backward", "dy where y > 0", kBackward);
}

WARPSCOPE_VARIANTS(reference_forward(), reference_backward(), loops_forward(), loops_backward(),
                   onednn_forward(),
                   onednn_backward() WARPSCOPE_IF_CUDA(, naive_forward(), naive_backward(),
                                                       vectorized_forward(), vectorized_backward()))

}  // namespace warpscope::ops::relu
