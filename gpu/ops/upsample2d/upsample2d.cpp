// Nearest-neighbour upsampling by 2 in height and width.
//
//   forward   y[n,i,j,c]  = x[n,i/2,j/2,c]
//   backward  dx[n,i,j,c] = dy[n,2i,2j,c] + dy[n,2i,2j+1,c] + dy[n,2i+1,2j,c] + dy[n,2i+1,2j+1,c]
//
// x: (N,H,W,C); y: (N,2H,2W,C). OpShape: batch, height and width of x, in_channels.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::upsample2d {
namespace {

std::int64_t upsampled(const OpShape& s) {
  return 4 * sizes::input(s);
}
double backward_flops(const OpShape& s) {
  return 3.0 * static_cast<double>(sizes::input(s));
}
std::int64_t backward_terms(const OpShape&) {
  return 4;
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, upsampled}};
constexpr std::array kBackward{Operand{Name::output_gradient, Access::read, Role::activation, upsampled},
                               Operand{Name::input_gradient, Access::write, Role::activation, sizes::input}};

}  // namespace

OpContract forward_contract() {
  return {.name = "upsample2d.forward",
          .summary = "each pixel four times",
          .operands = kForward,
          .describe = sizes::describe_images};
}

OpContract backward_contract() {
  return {.name = "upsample2d.backward",
          .summary = "sum of the four copies",
          .operands = kBackward,
          .flops = backward_flops,
          .terms = backward_terms,
          .describe = sizes::describe_images};
}

WARPSCOPE_VARIANTS(reference_forward(), reference_backward(), loops_forward(), loops_backward(),
                   onednn_forward(),
                   onednn_backward() WARPSCOPE_IF_CUDA(, naive_forward(), naive_backward(),
                                                       vectorized_forward(), vectorized_backward()))

}  // namespace warpscope::ops::upsample2d
