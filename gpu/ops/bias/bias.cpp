// bias.forward: y[n,h,w,c] = x[n,h,w,c] + b[c]. May run in place. The gradient of b is conv2d.backward_bias;
// that of x is dy itself and needs no op. It is an op of its own so that variants without fusion stay simple.
// OpShape: batch, height, width, in_channels.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::bias {
namespace {

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::bias, Access::read, Role::weight, sizes::in_channels},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};

}  // namespace

OpContract forward_contract() {
  OpContract made = sizes::each_element("bias.forward", "y = x + b", kForward);
  made.terms = sizes::two_terms;
  return made;
}

WARPSCOPE_VARIANTS(reference_forward(), loops_forward(),
                   onednn_forward() WARPSCOPE_IF_CUDA(, naive_forward(), vectorized_forward()))

}  // namespace warpscope::ops::bias
