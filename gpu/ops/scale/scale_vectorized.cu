// scale, variant `vectorized`: pointwise/pointwise_vectorized.cuh with scale_formula.h.

#include "gpu/ops/pointwise/pointwise_vectorized.cuh"
#include "gpu/ops/scale/scale.h"
#include "gpu/ops/scale/scale_formula.h"

namespace warpscope::ops::scale {

Variant vectorized_forward() {
  return pointwise::vectorized<Forward>(refuses);
}
Variant vectorized_backward() {
  return pointwise::vectorized<Backward>(refuses);
}

}  // namespace warpscope::ops::scale
