// dropout, variant `vectorized`: pointwise/pointwise_vectorized.cuh with dropout_formula.h.

#include "gpu/ops/dropout/dropout.h"
#include "gpu/ops/dropout/dropout_formula.h"
#include "gpu/ops/pointwise/pointwise_vectorized.cuh"

namespace warpscope::ops::dropout {

Variant vectorized_forward() {
  return pointwise::vectorized<Forward>(refuses);
}
Variant vectorized_backward() {
  return pointwise::vectorized<Backward>(refuses);
}

}  // namespace warpscope::ops::dropout
