// conv2d.backward_input of one dimension on Hopper: over `mma` it adds wgmma and TMA, and the mask of the ReLU before,
// read as bits while the products run. In 16 bits the weights are read as they lie, turned by the tensor cores; in
// TF32 they are transposed in the workspace. The kernel and its limits: hopper_activations.cuh; which shapes:
// hopper_lines.h. Source: the same.

#include "gpu/ops/conv2d/fused/hopper/hopper_line_calls.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_lines.h"

namespace warpscope::ops::conv2d::fused::hopper {

std::size_t line_backward_input::workspace(const ChainShape& s, core::Precision precision) {
  return precision == core::Precision::tf32 ? arranged_bytes(s, precision) : 0;
}

void line_backward_input::launch(const ChainCall& call) {
  launch_lines<true>(line_backward_call(call), call.shape.kernel_width);
}

}  // namespace warpscope::ops::conv2d::fused::hopper
