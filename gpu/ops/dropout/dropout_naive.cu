// dropout, variant `naive`: pointwise/pointwise_naive.cuh with dropout_formula.h.

#include "gpu/ops/dropout/dropout.h"
#include "gpu/ops/dropout/dropout_formula.h"
#include "gpu/ops/pointwise/pointwise_naive.cuh"

namespace warpscope::ops::dropout {

Variant naive_forward() {
  return pointwise::naive<Forward>(refuses);
}
Variant naive_backward() {
  return pointwise::naive<Backward>(refuses);
}

}  // namespace warpscope::ops::dropout
