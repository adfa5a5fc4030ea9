// conv2d.backward_input of small images on Hopper: over `hopper` it adds patches of eight images, so that none is
// mostly empty. In 16 bits the weights are read as they lie, turned by the tensor cores; in TF32 they are transposed in
// the workspace. The gradient that comes to x from another layer may be added. The kernel and its limits:
// hopper_activations.cuh; which shapes: hopper_small.h. Source: the same.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_activations.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_prepare.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_small.h"

namespace warpscope::ops::conv2d::fused::hopper {

std::size_t small_backward_input::workspace(const ChainShape& s, core::Precision precision) {
  return precision == core::Precision::tf32 ? arranged_bytes(s, precision) : 0;
}

void small_backward_input::launch(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const bool transposes = call.precision == core::Precision::tf32;
  Filters w{call.operand<const void>(Name::weights), s.out_channels, 9, s.in_channels, false};
  if (transposes) {
    transpose_weights(call, w.data, call.workspace);
    w = {call.workspace, s.in_channels, 9, s.out_channels, true};
  }
  const int images = static_cast<int>(s.batch);
  const std::int64_t c = s.in_channels;
  const Layout to{images, s.height, s.width, s.height * s.width * c, s.width * c, c, 0, 0, s.in_channels};
  ActivationsProblem problem{small_grid_of(s),
                             0,
                             static_cast<int>(divide_up(s.in_channels, kColumns)),
                             1,
                             1,
                             s.out_channels / slice_of(call.precision),
                             false,
                             s.masked,
                             to};
  problem.addend = call.operand<const void>(Name::addend);
  const Pixels dy{
      call.operand<const void>(Name::output_gradient), images, s.height, s.width, s.out_channels, false};
  launch_backward_input<true>(
      {problem, map_small(dy, kSmallColumns, kSmallSide + 2, call.precision),
       map_filters(w, transposes ? kColumns : kSlice, call.precision), call.operand<const void>(Name::input),
       call.operand<void>(Name::input_gradient), nullptr, call.precision, call.variant, call.stream});
}

}  // namespace warpscope::ops::conv2d::fused::hopper
