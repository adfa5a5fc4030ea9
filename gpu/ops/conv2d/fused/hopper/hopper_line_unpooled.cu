// conv2d.backward_input of one dimension with the gradient of a pooling in threes on Hopper: over `hopper` it adds that
// the gradient of the pooling before the convolution is made of the FP32 sums in registers, so that what lies between
// them is neither written nor read again. Each position becomes three, of which all but the place of the largest are
// zero. Places and the mask of the ReLU behind the pooling are read as two bits an element while the products run.
//
// The kernel and its limits: hopper_activations.cuh; shared memory up to 226 KiB; which shapes: hopper_lines.h. Source:
// the same.

#include "gpu/ops/conv2d/fused/hopper/hopper_line_calls.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_lines.h"

namespace warpscope::ops::conv2d::fused::hopper {

bool line_unpooled::takes(const ChainShape& s) {
  ChainShape line = s;
  line.pool = false;
  return is_line(line);
}

void line_unpooled::launch(const ChainCall& call) {
  launch_lines<true, true>(line_backward_call(call), call.shape.kernel_width);
}

}  // namespace warpscope::ops::conv2d::fused::hopper
