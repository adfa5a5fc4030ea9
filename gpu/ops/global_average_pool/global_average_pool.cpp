// The mean of each channel over an image.
//
//   forward   y[n,c] = 1 / (H W) sum over h, w of x[n,h,w,c]
//   backward  dx[n,h,w,c] = dy[n,c] / (H W)
//
// x, dx: (N,H,W,C); y, dy: (N,1,1,C). Sums are taken in FP32 (double in fp64) in an order that only the shape fixes,
// so that they have the same bits every time. OpShape: batch, height and width of x, in_channels. Source: M. Lin, Q.
// Chen, S. Yan, "Network in network" (2014).

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::global_average_pool {
namespace {

std::int64_t pixels_of_one(const OpShape& s) {
  return std::int64_t{s.height} * s.width;
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, sizes::features_in}};
constexpr std::array kBackward{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::features_in},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input}};

}  // namespace

OpContract forward_contract() {
  return {.name = "global_average_pool.forward",
          .summary = "mean of each channel over the image",
          .operands = kForward,
          .flops = sizes::one_flop_each,
          .terms = pixels_of_one,
          .describe = sizes::describe_images};
}

OpContract backward_contract() {
  return {.name = "global_average_pool.backward",
          .summary = "dy / (H W) at every pixel",
          .operands = kBackward,
          .flops = sizes::one_flop_each,
          .describe = sizes::describe_images};
}

WARPSCOPE_VARIANTS(reference_forward(), reference_backward(), loops_forward(), loops_backward(),
                   onednn_forward(),
                   onednn_backward() WARPSCOPE_IF_CUDA(, naive_forward(), naive_backward(),
                                                       warp_shuffle_forward(), vectorized_backward()))

}  // namespace warpscope::ops::global_average_pool
