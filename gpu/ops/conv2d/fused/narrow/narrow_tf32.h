#pragma once
// The TF32 kernels of narrow.h that are files of their own (narrow_*_tf32.cu), because 32-bit elements are
// not transposed on the way from shared memory to the tensor cores. narrow.h's functions call these.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_patch.cuh"

namespace warpscope::ops::conv2d::fused::narrow::tf32 {

/// Writes splits_of(tiles.count) partial results to the workspace (narrow_sum.h).
void launch_input_weights(const ChainCall& call, const Tiles& tiles);
void launch_output_weights(const ChainCall& call, const Tiles& tiles);

void launch_output_forward(const ChainCall& call);
void launch_output_input(const ChainCall& call);

}  // namespace warpscope::ops::conv2d::fused::narrow::tf32
