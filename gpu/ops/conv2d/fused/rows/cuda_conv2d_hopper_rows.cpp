// conv2d.backward_weights, variant `hopper_rows` (hopper_rows.cu), which is built as sm_90a.

#include "gpu/ops/conv2d/fused/rows/hopper_rows.h"
#include "gpu/ops/conv2d/fused/rows/rows.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

Variant hopper_rows_backward_weights() {
  namespace rows_backward_weights = fused::hopper::rows_backward_weights;
  return cuda_variant(Op::conv2d_backward_weights, "hopper_rows", rows_backward_weights::launch,
                      "As mma_rows by wgmma, its gradients fed by TMA and each character looked up once.",
                      {.precisions = {core::Precision::fp16, core::Precision::bf16},
                       .minimum_compute_capability = 90,
                       .maximum_compute_capability = 90,
                       .chain = fused::rows::backward_weights_and_bias_chain(),
                       .workspace_bytes = rows_backward_weights::workspace,
                       .refuses = rows_backward_weights::refuses});
}

}  // namespace warpscope::ops::conv2d
