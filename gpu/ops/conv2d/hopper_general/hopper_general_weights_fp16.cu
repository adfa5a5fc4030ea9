#include "gpu/ops/conv2d/hopper_general/hopper_general_weights.cuh"

namespace warpscope::ops::conv2d::hopper_general {

void launch_weights_fp16(const OpCall& call, const WeightsPlan& plan, const WeightsMaps& maps) {
  launch_weights<mma::Fp16>(call, plan, maps);
}

}  // namespace warpscope::ops::conv2d::hopper_general
