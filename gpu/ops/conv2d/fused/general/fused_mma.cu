// conv2d, variant `fused` on tensor cores: which precision's kernels run (fused_mma_activations.cuh).

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
  mma::with_math(precision, [&]<class Math>(Math) { tensor::launch_math<Math>(call); });
}

}  // namespace warpscope::ops::conv2d::fused::general
