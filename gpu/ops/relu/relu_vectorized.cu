// relu, variant `vectorized`: pointwise/pointwise_vectorized.cuh with relu_formula.h.

#include "gpu/ops/pointwise/pointwise_vectorized.cuh"
#include "gpu/ops/relu/relu_formula.h"

namespace warpscope::ops::relu {

Variant vectorized_forward() {
  return pointwise::vectorized<Forward>();
}
Variant vectorized_backward() {
  return pointwise::vectorized<Backward>();
}

}  // namespace warpscope::ops::relu
