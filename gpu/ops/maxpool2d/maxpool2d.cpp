// Max pooling, the stride that of the window, no padding: the last rows and columns that fill no window are dropped (as
// PyTorch's floor mode). With windows of R x S:
//
//   forward   y[n,i,j,c] = max over a < R, b < S of x[n,R i+a,S j+b,c];  argmax[n,i,j,c] = S a+b of the first maximum
//             in row-major order. A NaN wins over every number.
//   backward  dx[n,R i+a,S j+b,c] = dy[n,i,j,c] if argmax[n,i,j,c] == S a+b, else 0; rows and columns that forward
//             dropped get 0. Every element of dx is written.
//
// x: (N,H,W,C); y, argmax: (N,H/R,W/S,C), rounded down. OpShape: batch, height and width of x, in_channels,
// kernel_height = R and kernel_width = S from 1 to 3; 2x2 in most networks, 1x2 and 1x3 where there is one dimension.

#include "gpu/ops/maxpool2d/maxpool2d.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::maxpool2d {
namespace {

std::int64_t pooled(const OpShape& s) {
  return s.batch * pooled_height(s) * pooled_width(s) * s.in_channels;
}
double forward_flops(const OpShape& s) {
  return static_cast<double>(s.kernel_height * s.kernel_width - 1) * static_cast<double>(pooled(s));
}
/// "64x32x32x256", and with other windows than 2x2 "64x1x1014x256, 1x3"
std::string describe(const OpShape& s) {
  const std::string images = sizes::describe_images(s);
  return is_two_by_two(s) ? images : fmt::format("{}, {}x{}", images, s.kernel_height, s.kernel_width);
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, pooled},
                              Operand{Name::argmax, Access::write, Role::byte, pooled}};
constexpr std::array kBackward{Operand{Name::output_gradient, Access::read, Role::activation, pooled},
                               Operand{Name::argmax, Access::read, Role::byte, pooled},
                               Operand{Name::input_gradient, Access::write, Role::activation, sizes::input}};

}  // namespace

OpContract forward_contract() {
  return {.name = "maxpool2d.forward",
          .summary = "largest of each window",
          .operands = kForward,
          .flops = forward_flops,
          .describe = describe};
}

OpContract backward_contract() {
  return {.name = "maxpool2d.backward",
          .summary = "dy to the largest of each window",
          .operands = kBackward,
          .describe = describe};
}

WARPSCOPE_VARIANTS(reference_forward(), reference_backward(), loops_forward(),
                   loops_backward()
                       WARPSCOPE_IF_CUDA(, naive_forward(), vectorized_forward(), atomic_backward(),
                                         gather_backward(), direct_backward()))

}  // namespace warpscope::ops::maxpool2d
