// The kernel of patches.cuh in FP16.

#include "gpu/ops/conv2d/patches/patches.cuh"

namespace warpscope::ops::conv2d::patches {

void launch_fp16(const OpCall& call, const Problem& problem, const Tensors& tensors) {
  launch<mma::Fp16>(call, problem, tensors);
}

}  // namespace warpscope::ops::conv2d::patches
