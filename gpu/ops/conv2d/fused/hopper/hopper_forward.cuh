#pragma once
// The calls of the kernel (hopper_activations.cuh) for forward of wide layers, which hopper_forward.cu,
// hopper_small_forward.cu and hopper_normed.cu share.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_activations.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_prepare.h"

namespace warpscope::ops::conv2d::fused::hopper {

/// The output's pixels as the tiles' epilogue meets them.
inline Layout output_layout(const ChainShape& s) {
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

/// The call where is_wide(). The weights of an upsampled layer are summed to the beginning of the workspace first
/// (arranged_bytes()).
inline ActivationsCall wide_forward_call(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const void* weights = call.operand<const void>(Name::weights);
  if (s.upsample) {
    sum_weights(call, weights, call.workspace);
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
  return {problem,
          map_pixels(x, kPatchSide + taps - 1, call.precision),
          map_filters(w, columns, call.precision),
          call.operand<const void>(Name::bias),
          call.operand<void>(Name::output),
          call.operand<std::uint8_t>(Name::argmax),
          call.precision,
          call.variant,
          call.stream};
}

/// The call where is_small().
inline ActivationsCall small_forward_call(const ChainCall& call) {
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
  return {problem,
          map_small(x, kSmallColumns, kSmallSide + 2, call.precision),
          map_filters(w, kColumns, call.precision),
          call.operand<const void>(Name::bias),
          call.operand<void>(Name::output),
          nullptr,
          call.precision,
          call.variant,
          call.stream};
}

}  // namespace warpscope::ops::conv2d::fused::hopper
