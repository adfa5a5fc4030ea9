// conv2d.forward of one dimension with a pooling in threes on Hopper: over `hopper` it adds that the pooling runs on
// the FP32 sums in registers, so that what the convolution gives is not stored. A patch is eight windows of eight
// texts. The first, second and third positions of all windows are a product each, whose rows lie three positions apart
// in shared memory; so a lane has windows whole. Tiles of 384 positions and 128 channels, with 192 sums a thread;
// positions that fill no window are not computed.
//
// The kernel and its limits: hopper_activations.cuh; shared memory 221 KiB with 7 taps, 213 with 5, 205 with 3; which
// shapes: hopper_lines.h. Source: the same.

#include "gpu/ops/conv2d/fused/hopper/hopper_line_calls.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_lines.h"

namespace warpscope::ops::conv2d::fused::hopper {

bool line_pooled::takes(const ChainShape& s) {
  ChainShape line = s;
  line.pool = false;
  return is_line(line) && line_outputs(s) >= kLineWindow;
}

void line_pooled::launch(const ChainCall& call) {
  launch_lines<false, true>(line_forward_call(call, kLineWindow), call.shape.kernel_width);
}

}  // namespace warpscope::ops::conv2d::fused::hopper
