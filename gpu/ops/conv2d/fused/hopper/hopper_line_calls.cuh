#pragma once
// What launches of one dimension have in common (hopper_lines.h): the call of the kernel of hopper_activations.cuh.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_activations.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_prepare.h"

namespace warpscope::ops::conv2d::fused::hopper {

/// `window`: positions that are pooled to one, 1 without pooling.
inline ActivationsCall line_forward_call(const ChainCall& call, int window) {
  const ChainShape& s = call.shape;
  const int texts = static_cast<int>(s.batch);
  const Lines y{call.operand<const void>(Name::output), texts, line_outputs(s) / window, s.out_channels};
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
  return {problem,
          map_lines(x, window * kPatchSide + s.kernel_width - 1, call.precision),
          map_filters(w, kColumns, call.precision),
          call.operand<const void>(Name::bias),
          call.operand<void>(Name::output),
          call.operand<std::uint8_t>(Name::argmax),
          call.precision,
          call.variant,
          call.stream};
}

/// In TF32 it transposes the weights into the workspace first.
inline ActivationsCall line_backward_call(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const int texts = static_cast<int>(s.batch);
  Filters w{call.operand<const void>(Name::weights), s.out_channels, s.kernel_width, s.in_channels, false};
  if (call.precision == core::Precision::tf32) {
    transpose_weights(call, w.data, call.workspace);
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
  return {problem,
          map_lines(dy, kPatchSide + s.kernel_width - 1, call.precision),
          map_filters(w, filters, call.precision),
          call.operand<const void>(Name::input),
          call.operand<void>(Name::input_gradient),
          call.operand<std::uint8_t>(Name::argmax),
          call.precision,
          call.variant,
          call.stream};
}

}  // namespace warpscope::ops::conv2d::fused::hopper
