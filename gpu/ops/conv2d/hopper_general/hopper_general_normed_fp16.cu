#include "gpu/ops/conv2d/hopper_general/hopper_general.cuh"

namespace warpscope::ops::conv2d::hopper_general {

void launch_normed_fp16(const OpCall& call, const Problem& problem, const Tensors& tensors, const Maps& maps,
                        const TileSize& tile) {
  launch<mma::Fp16, true>(call, problem, tensors, maps, tile);
}

}  // namespace warpscope::ops::conv2d::hopper_general
