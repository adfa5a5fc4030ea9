// The kernel of patches.cuh in BF16.

#include "gpu/ops/conv2d/patches/patches.cuh"

namespace warpscope::ops::conv2d::patches {

void launch_bf16(const OpCall& call, const Problem& problem, const Tensors& tensors) {
  launch<mma::Bf16>(call, problem, tensors);
}

}  // namespace warpscope::ops::conv2d::patches
