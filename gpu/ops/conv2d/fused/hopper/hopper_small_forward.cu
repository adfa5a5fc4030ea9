// conv2d.forward of small images on Hopper: over `hopper` it adds patches of eight images, so that none is mostly
// empty. The kernel and its limits: hopper_activations.cuh; which shapes: hopper_small.h. Source: the same.

#include "gpu/ops/conv2d/fused/hopper/hopper_forward.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_small.h"

namespace warpscope::ops::conv2d::fused::hopper {

void small_forward::launch(const ChainCall& call) {
  launch_activations<Variation{.small = true}>(small_forward_call(call));
}

}  // namespace warpscope::ops::conv2d::fused::hopper
