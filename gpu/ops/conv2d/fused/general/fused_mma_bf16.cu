// The kernels of fused_mma_activations.cuh in BF16.

#include "gpu/ops/conv2d/fused/general/fused_mma_activations.cuh"

namespace warpscope::ops::conv2d::fused::general::tensor {

template void launch_math<mma::Bf16>(const Activations& call);

}  // namespace warpscope::ops::conv2d::fused::general::tensor
