// conv2d.backward_input of one dimension on Hopper: over `mma` it adds wgmma and TMA, and the mask of the ReLU before,
// read as bits while the products run. In 16 bits the weights are read as they lie, turned by the tensor cores; in
// TF32 they are transposed in the workspace. The kernel and its limits: hopper_activations.cuh; which shapes:
// hopper_lines.h. Source: the same.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper_activations.cuh"
#include "gpu/ops/conv2d/fused/hopper_lines.h"
#include "gpu/ops/conv2d/fused/hopper_prepare.h"

namespace warpscope::ops::conv2d::fused::hopper {

bool line_backward_input::takes(const ChainShape& s) {
  return is_line(s);
}

std::size_t line_backward_input::workspace(const ChainShape& s, core::Precision precision) {
  return precision == core::Precision::tf32 ? arranged_bytes(s, precision) : 0;
}

void line_backward_input::launch(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const cudaStream_t stream = core::cuda_stream(*call.stream);
  const int texts = static_cast<int>(s.batch);
  Filters w{call.operand<const void>(Name::weights), s.out_channels, s.kernel_width, s.in_channels, false};
  if (call.precision == core::Precision::tf32) {
    transpose_weights(s, w.data, call.workspace, stream);
    w = {call.workspace, s.in_channels, s.kernel_width, s.out_channels, true};
  }
  const Lines dy{call.operand<const void>(Name::output_gradient), texts, line_outputs(s), s.out_channels};
  const Lines dx{call.operand<const void>(Name::input_gradient), texts, s.width, s.in_channels};
  const std::int64_t c = s.in_channels;
  const Layout to{1, s.width, texts, 0, c, s.width * c, 0, 0, s.in_channels};
  const ActivationsProblem problem{grid_of(dx),
                                   0,
                                   static_cast<int>(divide_up(s.in_channels, kColumns)),
                                   1,
                                   1,
                                   s.out_channels / slice_of(call.precision),
                                   false,
                                   s.masked,
                                   to,
                                   s.kernel_width - 1 - line_padding(s)};
  const int filters = call.precision == core::Precision::tf32 ? kColumns : kSlice;
  launch_lines<true>({problem, map_lines(dy, kPatchSide + s.kernel_width - 1, call.precision),
                      map_filters(w, filters, call.precision), call.operand<const void>(Name::input),
                      call.operand<void>(Name::input_gradient), nullptr, call.precision, stream},
                     s.kernel_width);
  core::check_launch("conv2d.backward_input hopper, one dimension");
}

}  // namespace warpscope::ops::conv2d::fused::hopper
