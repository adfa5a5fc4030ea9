// conv2d.forward of one dimension on Hopper: over `mma` it adds wgmma and TMA, and bias and ReLU on the FP32 sums in
// registers. The kernel and its limits: hopper_activations.cuh; which shapes: hopper_lines.h. Source: the same.

#include "gpu/ops/conv2d/fused/hopper/hopper_line_calls.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_lines.h"

namespace warpscope::ops::conv2d::fused::hopper {

void line_forward::launch(const ChainCall& call) {
  launch_lines<false>(line_forward_call(call, 1), call.shape.kernel_width);
}

}  // namespace warpscope::ops::conv2d::fused::hopper
