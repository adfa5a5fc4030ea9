// The kernels of fused_mma_activations.cuh in TF32.

#include "gpu/ops/conv2d/fused/general/fused_mma_activations.cuh"

namespace warpscope::ops::conv2d::fused::general::tensor {

template void launch_math<mma::Tf32>(const Activations& call);

}  // namespace warpscope::ops::conv2d::fused::general::tensor
