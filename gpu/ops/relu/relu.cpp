// ReLU. forward: y = max(x, 0), NaN stays NaN. backward: dx = dy where y > 0, else 0 (as PyTorch: the
// gradient at 0 is 0). Both may run in place. OpShape: batch, height, width, in_channels.

#include <array>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

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
  return {.name = "relu.forward",
          .summary = "y = max(x, 0)",
          .operands = kForward,
          .flops = sizes::one_flop_each,
          .terms = sizes::one,
          .describe = sizes::describe_images};
}

OpContract backward_contract() {
  return {.name = "relu.backward",
          .summary = "dy where y > 0",
          .operands = kBackward,
          .flops = sizes::one_flop_each,
          .terms = sizes::one,
          .describe = sizes::describe_images};
}

// Each is defined in the file named for its variant.
Variant reference_forward(), reference_backward(), loops_forward(), loops_backward(), onednn_forward(),
    onednn_backward();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), naive_backward(), vectorized_forward(), vectorized_backward();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), reference_backward(), loops_forward(),
                            loops_backward(),    onednn_forward(),     onednn_backward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), naive_backward(), vectorized_forward(), vectorized_backward()});
#endif
  return list;
}

}  // namespace warpscope::ops::relu
