// scale, variant `naive`: pointwise/pointwise_naive.cuh with scale_formula.h.

#include "gpu/ops/pointwise/pointwise_naive.cuh"
#include "gpu/ops/scale/scale.h"
#include "gpu/ops/scale/scale_formula.h"

namespace warpscope::ops::scale {

Variant naive_forward() {
  return pointwise::naive<Forward>(refuses);
}
Variant naive_backward() {
  return pointwise::naive<Backward>(refuses);
}

}  // namespace warpscope::ops::scale
