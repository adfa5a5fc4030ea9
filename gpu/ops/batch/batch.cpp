// batch.gather: picks the images of the next batch from the data set in device memory and scales them to [0,
// 1].
//
//   x[n,h,w,c] = images[order[(position + n) mod count], h, w, c] / 255,   position from the device's
//   StepControl
//
// images: (count,H,W,C) bytes; order: count positions; x: (N,H,W,C). OpShape: batch, height, width,
// in_channels, count.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::batch {
namespace {

constexpr std::array kGather{Operand{Name::images, Access::read, Role::byte, sizes::data_set},
                             Operand{Name::order, Access::read, Role::index, sizes::count},
                             Operand{Name::control, Access::read, Role::control, sizes::step_control},
                             Operand{Name::output, Access::write, Role::activation, sizes::input}};

}  // namespace

OpContract gather_contract() {
  return {.name = "batch.gather",
          .summary = "pick the batch's images and scale bytes to [0, 1]",
          .operands = kGather,
          .flops = sizes::one_flop_each,
          .describe = sizes::describe_images,
          .touched = sizes::picked};
}

WARPSCOPE_VARIANTS(reference_gather(), loops_gather() WARPSCOPE_IF_CUDA(, naive_gather(), vectorized_gather(),
                                                                        vectorized_fused_gather()))

}  // namespace warpscope::ops::batch
