// conv2d.forward of one dimension with a pooling in threes on Hopper: over `hopper` it adds that the pooling runs on the
// FP32 sums in registers, so that what the convolution gives is not stored. A patch is eight windows of eight texts.
// Its first, second and third positions of all windows are a product each, whose rows lie three positions apart in
// shared memory; so a lane has windows whole. Tiles of 384 positions and 128 channels, with 192 sums a thread; positions
// that fill no window are not computed.
//
// The kernel and its limits: hopper_activations.cuh; shared memory 221 KiB with 7 taps, 213 with 5, 205 with 3; which
// shapes: hopper_lines.h. Source: the same.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper_activations.cuh"
#include "gpu/ops/conv2d/fused/hopper_lines.h"

namespace warpscope::ops::conv2d::fused::hopper {

bool line_pooled::takes(const ChainShape& s) {
  ChainShape line = s;
  line.pool = false;
  return is_line(line) && line_outputs(s) >= kLineWindow;
}

void line_pooled::launch(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const int texts = static_cast<int>(s.batch);
  const Lines y{call.operand<const void>(Name::output), texts, line_outputs(s) / kLineWindow, s.out_channels};
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
  launch_lines<false, true>(
      {problem, map_lines(x, kLineWindow * kPatchSide + s.kernel_width - 1, call.precision),
       map_filters(w, kColumns, call.precision), call.operand<const void>(Name::bias),
       call.operand<void>(Name::output), call.operand<std::uint8_t>(Name::argmax), call.precision,
       core::cuda_stream(*call.stream)},
      s.kernel_width);
  core::check_launch("conv2d.forward hopper_pooled");
}

}  // namespace warpscope::ops::conv2d::fused::hopper
