// conv2d.forward of one dimension on Hopper: over `mma` it adds wgmma and TMA, and bias and ReLU on the FP32 sums in
// registers. The kernel and its limits: hopper_activations.cuh; which shapes: hopper_lines.h. Source: the same.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper_activations.cuh"
#include "gpu/ops/conv2d/fused/hopper_lines.h"

namespace warpscope::ops::conv2d::fused::hopper {

bool line_forward::takes(const ChainShape& s) {
  return is_line(s);
}

std::size_t line_forward::workspace(const ChainShape&, core::Precision) {
  return 0;
}

void line_forward::launch(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const int texts = static_cast<int>(s.batch);
  const Lines y{call.operand<const void>(Name::output), texts, line_outputs(s), s.out_channels};
  const Lines x{call.operand<const void>(Name::input), texts, s.width, s.in_channels};
  const Filters w{call.operand<const void>(Name::weights), s.out_channels, s.kernel_width, s.in_channels,
                  false};
  const std::int64_t k = s.out_channels;
  const Layout to{1, y.positions, texts, 0, k, y.positions * k, 0, 0, s.out_channels};
  const ActivationsProblem problem{grid_of(y),
                                   0,
                                   static_cast<int>(divide_up(s.out_channels, kColumns)),
                                   1,
                                   1,
                                   s.in_channels / slice_of(call.precision),
                                   s.relu,
                                   false,
                                   to,
                                   line_padding(s)};
  launch_lines<false>(
      {problem, map_lines(x, kPatchSide + s.kernel_width - 1, call.precision),
       map_filters(w, kColumns, call.precision), call.operand<const void>(Name::bias),
       call.operand<void>(Name::output), nullptr, call.precision, core::cuda_stream(*call.stream)},
      s.kernel_width);
  core::check_launch("conv2d.forward hopper, one dimension");
}

}  // namespace warpscope::ops::conv2d::fused::hopper
