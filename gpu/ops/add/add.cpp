// add.forward: y[n,h,w,c] = a[n,h,w,c] + b[n,h,w,c], where two paths meet: gradients of a tensor that two layers
// read. May run in place of a. The gradient of either input is dy itself and needs no op. OpShape: batch, height,
// width, in_channels.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::add {
namespace {

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::addend, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};

}  // namespace

OpContract forward_contract() {
  return {.name = "add.forward",
          .summary = "y = a + b",
          .operands = kForward,
          .flops = sizes::one_flop_each,
          .terms = sizes::two_terms,
          .describe = sizes::describe_images};
}

// Each is defined in the file named for its variant.
Variant reference_forward(), loops_forward(), onednn_forward();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), vectorized_forward();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), loops_forward(), onednn_forward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), vectorized_forward()});
#endif
  return list;
}

}  // namespace warpscope::ops::add
