// conv2d, variant `fused` on tensor cores: which precision's kernels run (fused_mma_activations.cuh).

#include "gpu/core/cuda.h"
#include "gpu/ops/conv2d/fused/general/fused.h"
#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::fused::general {
namespace tensor {

template <class Math>
void launch_math(const Activations& call);
extern template void launch_math<mma::Fp16>(const Activations& call);
extern template void launch_math<mma::Bf16>(const Activations& call);
extern template void launch_math<mma::Tf32>(const Activations& call);

}  // namespace tensor

void activations_mma(const Activations& call, core::Precision precision) {
  switch (precision) {
    case core::Precision::fp16:
      tensor::launch_math<mma::Fp16>(call);
      break;
    case core::Precision::bf16:
      tensor::launch_math<mma::Bf16>(call);
      break;
    default:
      tensor::launch_math<mma::Tf32>(call);
      break;
  }
  core::check_launch("conv2d fused on tensor cores");
}

}  // namespace warpscope::ops::conv2d::fused::general
