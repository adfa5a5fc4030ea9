// conv2d.forward of wide layers on Hopper: over `mma` it adds wgmma and TMA, the upsampled layers as four
// 2x2 convolutions of the small input (2.25 times fewer products), and bias, ReLU and pooling on the FP32
// sums in registers: nothing between the layers is stored.
//
// The kernel and its limits: hopper_activations.cuh. An upsampled layers first sums its weights for each
// parity of the output into the workspace. Tiles of 256 pixels and 128 channels, or 128 pixels where these
// fill the GPU better; with 64 filters slim tiles of 384 or 256 pixels and 64 channels.
// Source: W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?" (2016), for the
// parities.

#include "gpu/ops/conv2d/fused/hopper/hopper_forward.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_wide.h"

namespace warpscope::ops::conv2d::fused::hopper {

std::size_t forward::workspace(const ChainShape& s, core::Precision precision) {
  return s.upsample ? arranged_bytes(s, precision) : 0;
}

void forward::launch(const ChainCall& call) {
  const ActivationsCall activations = wide_forward_call(call);
  if (call.shape.upsample) {
    launch_activations<Variation{.tap_rows = 2, .tap_columns = 2}>(activations);
  } else if (call.shape.pool) {
    launch_activations<Variation{.pool = true}>(activations);
  } else {
    launch_activations<Variation{}>(activations);
  }
}

}  // namespace warpscope::ops::conv2d::fused::hopper
