// bias.forward: y[n,h,w,c] = x[n,h,w,c] + b[c]. May run in place. The gradient of b is conv2d.backward_bias;
// that of x is dy itself and needs no op. OpShape: batch, height, width, in_channels.

#include <array>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::bias {
namespace {

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::bias, Access::read, Role::weight, sizes::in_channels},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};

}  // namespace

OpContract forward_contract() {
  return {.name = "bias.forward",
          .summary = "y = x + b",
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

}  // namespace warpscope::ops::bias
