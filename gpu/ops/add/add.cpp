// add.forward: y[n,h,w,c] = a[n,h,w,c] + b[n,h,w,c], where two paths meet: gradients of a tensor that two layers
// read. May run in place of a. The gradient of either input is dy itself and needs no op. OpShape: batch, height,
// width, in_channels.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::add {
namespace {

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::addend, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};

}  // namespace

OpContract forward_contract() {
  OpContract made = sizes::each_element("add.forward", "y = a + b", kForward);
  made.terms = sizes::two_terms;
  return made;
}

WARPSCOPE_VARIANTS(reference_forward(), loops_forward(),
                   onednn_forward() WARPSCOPE_IF_CUDA(, naive_forward(), vectorized_forward()))

}  // namespace warpscope::ops::add
