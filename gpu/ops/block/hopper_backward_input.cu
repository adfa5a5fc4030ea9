// block.backward_input of the wide blocks on Hopper: over `wmma` it adds wgmma and TMA, an upsampled block's
// gradient from four parity planes of dy by 2x2 taps each (2.25 times fewer products, no sum over copies),
// and the mask of the ReLU before, read as bits while the products run.
//
// The kernel and its limits: hopper_activations.cuh. The weights are read as they lie, turned by the tensor
// cores. A pooled block's dy is first spread over the convolution's size in the workspace, an upsampled
// block's weights are summed there.

#include "gpu/ops/block/block.h"
#include "gpu/ops/block/hopper_activations.cuh"
#include "gpu/ops/block/hopper_prepare.h"
#include "gpu/ops/block/hopper_wide.h"

namespace warpscope::ops::block::hopper {

bool backward_input::takes(const OpShape& s) {
  return is_wide(s);
}

std::size_t backward_input::workspace(const OpShape& s) {
  if (s.upsample) return summed_bytes(s);
  return s.pool ? convolution_bytes(s) : 0;
}

void backward_input::launch(const OpCall& call) {
  const OpShape& s = call.shape;
  const cudaStream_t stream = core::cuda_stream(*call.stream);
  const void* weights = call.operand<const void>(kInputWeights);
  const void* dy = call.operand<const void>(kInputOutputGradient);
  if (s.upsample) {
    sum_weights(s, weights, call.workspace, call.precision, stream);
    weights = call.workspace;
  } else if (s.pool) {
    unpool(s, dy, call.operand<const std::uint8_t>(kInputArgmax), call.workspace, stream);
    dy = call.workspace;
  }
  const int taps = s.upsample ? 2 : 3;
  const Grid grid = grid_of(s);
  const std::int64_t c = s.in_channels;
  const Layout to{grid.images, s.height, s.width, s.height * s.width * c, s.width * c,
                  c,           0,        0,       s.in_channels};
  const ActivationsProblem problem{grid,
                                   0,
                                   static_cast<int>(divide_up(s.in_channels, kColumns)),
                                   1,
                                   s.upsample ? 4 : 1,
                                   s.out_channels / kSlice,
                                   false,
                                   s.masked,
                                   to};
  const Pixels gradient{dy, grid.images, s.height, s.width, s.out_channels, s.upsample};
  const Filters w{weights, s.out_channels, s.upsample ? 16 : 9, s.in_channels, s.upsample};
  const ActivationsCall activations{problem,
                                    map_pixels(gradient, kPatchSide + taps - 1, call.precision),
                                    map_filters(w, kSlice, call.precision),
                                    call.operand<const void>(kInputInput),
                                    call.operand<void>(kInputInputGradient),
                                    nullptr,
                                    call.precision,
                                    stream};
  if (s.upsample) {
    launch_activations<2, true, false>(activations);
  } else {
    launch_activations<3, true, false>(activations);
  }
  core::check_launch("block.backward_input hopper");
}

}  // namespace warpscope::ops::block::hopper
