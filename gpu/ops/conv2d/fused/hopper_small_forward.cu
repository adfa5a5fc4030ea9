// conv2d.forward of small images on Hopper: over `hopper` it adds patches of eight images, so that none is mostly
// empty. The kernel and its limits: hopper_activations.cuh; which shapes: hopper_small.h. Source: the same.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper_activations.cuh"
#include "gpu/ops/conv2d/fused/hopper_small.h"

namespace warpscope::ops::conv2d::fused::hopper {

bool small_forward::takes(const ChainShape& s) {
  return is_small(s);
}

std::size_t small_forward::workspace(const ChainShape&, core::Precision) {
  return 0;
}

void small_forward::launch(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const int images = static_cast<int>(s.batch);
  const std::int64_t k = s.out_channels;
  const Layout to{images, s.height, s.width, s.height * s.width * k, s.width * k, k, 0, 0, s.out_channels};
  const ActivationsProblem problem{small_grid_of(s),
                                   0,
                                   static_cast<int>(divide_up(s.out_channels, kColumns)),
                                   1,
                                   1,
                                   s.in_channels / slice_of(call.precision),
                                   s.relu,
                                   false,
                                   to};
  const Pixels x{call.operand<const void>(Name::input), images, s.height, s.width, s.in_channels, false};
  const Filters w{call.operand<const void>(Name::weights), s.out_channels, 9, s.in_channels, false};
  launch_activations<3, 3, false, false, true>(
      {problem, map_small(x, kSmallColumns, kSmallSide + 2, call.precision),
       map_filters(w, kColumns, call.precision), call.operand<const void>(Name::bias),
       call.operand<void>(Name::output), nullptr, call.precision, core::cuda_stream(*call.stream)});
  core::check_launch("conv2d.forward hopper, small images");
}

}  // namespace warpscope::ops::conv2d::fused::hopper
