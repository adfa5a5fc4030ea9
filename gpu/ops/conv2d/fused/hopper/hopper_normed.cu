// conv2d.forward before a batch norm on Hopper, the convolution of the variant `hopper_normed`: over `hopper` it adds
// the moments of its output, a part for each block, taken of what is in registers (hopper_moments.cuh). So the batch
// norm reads the output once instead of twice.
//
// The kernel and its limits: hopper_activations.cuh; images of at most 4x4 pixels eight at once (hopper_small.h).
// FP16 and BF16. Workspace: the parts, at most 0.22 MB.
// Source: the same.

#include "gpu/ops/conv2d/fused/hopper/hopper_forward.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_normed.h"

namespace warpscope::ops::conv2d::fused::hopper {

std::size_t normed_forward::workspace(const ChainShape& s) {
  const std::int64_t rows = kMostSummingBlocks / divide_up(s.out_channels, kColumns);
  const std::int64_t parts = batch_norm::partial_moments_elements(rows, s.out_channels);
  return static_cast<std::size_t>(parts) * sizeof(float);
}

batch_norm::PartialMoments normed_forward::launch(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const bool small = is_small(s);
  ActivationsCall activations = small ? small_forward_call(call) : wide_forward_call(call);
  activations.problem.parts = static_cast<float*>(call.workspace);
  const int blocks = small ? launch_activations<Variation{.small = true, .moments = true}>(activations)
                           : launch_activations<Variation{.moments = true}>(activations);
  return {activations.problem.parts, blocks / activations.problem.column_tiles};
}

}  // namespace warpscope::ops::conv2d::fused::hopper
