// conv2d.forward of wide layers on Hopper: over `mma` it adds wgmma and TMA, the upsampled layers as four
// 2x2 convolutions of the small input (2.25 times fewer products), and bias, ReLU and pooling on the FP32
// sums in registers: nothing between the layers is stored.
//
// The kernel and its limits: hopper_activations.cuh. An upsampled layers first sums its weights for each
// parity of the output into the workspace. Tiles of 256 pixels and 128 channels, or 128 pixels where these
// fill the GPU better; with 64 filters slim tiles of 384 or 256 pixels and 64 channels.
// Source: W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?" (2016), for the
// parities.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper_activations.cuh"
#include "gpu/ops/conv2d/fused/hopper_prepare.h"
#include "gpu/ops/conv2d/fused/hopper_wide.h"

namespace warpscope::ops::conv2d::fused::hopper {
namespace {

/// The output's pixels as the tiles' epilogue meets them.
Layout output_layout(const ChainShape& s) {
  const int scale = s.upsample ? 2 : 1;
  const std::int64_t k = s.out_channels;
  Layout to{static_cast<int>(s.batch), s.height, s.width, 0, 0, 0, 0, 0, s.out_channels};
  if (s.pool) {
    to.height /= 2;
    to.width /= 2;
  }
  const std::int64_t line = scale * to.width * k;
  to.image = scale * to.height * line;
  to.row = scale * line;
  to.column = scale * k;
  to.parity_row = line;
  to.parity_column = k;
  return to;
}

}  // namespace

bool forward::takes(const ChainShape& s) {
  return is_wide(s);
}

std::size_t forward::workspace(const ChainShape& s, core::Precision precision) {
  return s.upsample ? arranged_bytes(s, precision) : 0;
}

void forward::launch(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const cudaStream_t stream = core::cuda_stream(*call.stream);
  const void* weights = call.operand<const void>(Name::weights);
  if (s.upsample) {
    sum_weights(s, weights, call.workspace, call.precision, stream);
    weights = call.workspace;
  }
  const int taps = s.upsample ? 2 : 3;
  const int columns = columns_of(s.out_channels);
  const Grid grid = grid_of(s);
  const ActivationsProblem problem{grid,
                                   0,
                                   static_cast<int>(divide_up(s.out_channels, columns)),
                                   s.upsample ? 4 : 1,
                                   1,
                                   s.in_channels / slice_of(call.precision),
                                   s.relu,
                                   false,
                                   output_layout(s)};
  const Pixels x{call.operand<const void>(Name::input), grid.images, s.height, s.width, s.in_channels, false};
  const Filters w{weights, s.out_channels, s.upsample ? 16 : 9, s.in_channels, s.upsample};
  const ActivationsCall activations{problem,
                                    map_pixels(x, kPatchSide + taps - 1, call.precision),
                                    map_filters(w, columns, call.precision),
                                    call.operand<const void>(Name::bias),
                                    call.operand<void>(Name::output),
                                    call.operand<std::uint8_t>(Name::argmax),
                                    call.precision,
                                    stream};
  if (s.upsample) {
    launch_activations<2, 2, false, false>(activations);
  } else if (s.pool) {
    launch_activations<3, 3, false, true>(activations);
  } else {
    launch_activations<3, 3, false, false>(activations);
  }
  core::check_launch("conv2d.forward hopper");
}

}  // namespace warpscope::ops::conv2d::fused::hopper
