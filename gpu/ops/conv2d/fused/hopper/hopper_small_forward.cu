// conv2d.forward of small images on Hopper: over `hopper` it adds patches of eight images, so that none is mostly
// empty. The kernel and its limits: hopper_activations.cuh; which shapes: hopper_small.h. Source: the same.

#include "gpu/ops/conv2d/fused/hopper/hopper_forward.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_small.h"

namespace warpscope::ops::conv2d::fused::hopper {

bool small_forward::takes(const ChainShape& s) {
  return is_small(s);
}

std::size_t small_forward::workspace(const ChainShape&, core::Precision) {
  return 0;
}

void small_forward::launch(const ChainCall& call) {
  launch_activations<Variation{.small = true}>(small_forward_call(call));
  core::check_launch("conv2d.forward hopper, small images");
}

}  // namespace warpscope::ops::conv2d::fused::hopper
