// conv2d.backward_input of wide layers on Hopper: over `mma` it adds wgmma and TMA, an upsampled layers's
// gradient from four parity planes of dy by 2x2 taps each (2.25 times fewer products, no sum over copies),
// the mask of the ReLU before, read as bits while the products run, and, where another layer reads x too, the gradient
// that comes from there.
//
// The kernel and its limits: hopper_activations.cuh. In 16 bits the weights are read as they lie, turned by
// the tensor cores; an upsampled layers's are first summed in the workspace. In TF32 both are transposed
// there. A pooled block's dy is first spread over the convolution's size in the workspace. Tiles as in
// hopper_forward.cu: slim ones with 64 input channels.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_activations.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_prepare.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_wide.h"

namespace warpscope::ops::conv2d::fused::hopper {

namespace {

bool transposes(core::Precision precision) {
  return precision == core::Precision::tf32;
}

/// Bytes of the weights in the workspace.
std::size_t weights_bytes(const ChainShape& s, core::Precision precision) {
  return s.upsample || transposes(precision) ? arranged_bytes(s, precision) : 0;
}

/// The weights as the kernel takes them, and the box of a stage: as they lie, or arranged in the workspace.
CUtensorMap arrange_weights(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const void* weights = call.operand<const void>(Name::weights);
  if (transposes(call.precision)) {
    transpose_weights(call, weights, call.workspace);
    const Filters w{call.workspace, s.in_channels, s.upsample ? 16 : 9, s.out_channels, true};
    return map_filters(w, columns_of(s.in_channels), call.precision);
  }
  if (s.upsample) {
    sum_weights(call, weights, call.workspace);
    weights = call.workspace;
  }
  const Filters w{weights, s.out_channels, s.upsample ? 16 : 9, s.in_channels, s.upsample};
  return map_filters(w, kSlice, call.precision);
}

}  // namespace

/// The arranged weights, then the unpooled dy.
std::size_t backward_input::workspace(const ChainShape& s, core::Precision precision) {
  return weights_bytes(s, precision) + (s.pool ? convolution_bytes(s, precision) : 0);
}

void backward_input::launch(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const CUtensorMap weights = arrange_weights(call);
  const void* dy = call.operand<const void>(Name::output_gradient);
  if (s.pool) {
    void* full = static_cast<unsigned char*>(call.workspace) + weights_bytes(s, call.precision);
    unpool(call, dy, full);
    dy = full;
  }
  const int taps = s.upsample ? 2 : 3;
  const Grid grid = grid_of(s);
  const std::int64_t c = s.in_channels;
  const Layout to{grid.images, s.height, s.width, s.height * s.width * c, s.width * c,
                  c,           0,        0,       s.in_channels};
  ActivationsProblem problem{grid,
                             0,
                             static_cast<int>(divide_up(s.in_channels, columns_of(s.in_channels))),
                             1,
                             s.upsample ? 4 : 1,
                             s.out_channels / slice_of(call.precision),
                             false,
                             s.masked,
                             to};
  problem.addend = call.operand<const void>(Name::addend);
  const Pixels gradient{dy, grid.images, s.height, s.width, s.out_channels, s.upsample};
  const ActivationsCall activations{problem,
                                    map_pixels(gradient, kPatchSide + taps - 1, call.precision),
                                    weights,
                                    call.operand<const void>(Name::input),
                                    call.operand<void>(Name::input_gradient),
                                    nullptr,
                                    call.precision,
                                    call.variant,
                                    call.stream};
  if (s.upsample) {
    launch_activations<Variation{.tap_rows = 2, .tap_columns = 2, .back = true}>(activations);
  } else {
    launch_backward_input<false>(activations);
  }
}

}  // namespace warpscope::ops::conv2d::fused::hopper
