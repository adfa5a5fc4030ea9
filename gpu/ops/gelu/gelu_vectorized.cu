// gelu, variant `vectorized`: pointwise/pointwise_vectorized.cuh with gelu_formula.h.

#include "gpu/ops/gelu/gelu_formula.h"
#include "gpu/ops/pointwise/pointwise_vectorized.cuh"

namespace warpscope::ops::gelu {

Variant vectorized_forward() {
  return pointwise::vectorized<Forward>();
}
Variant vectorized_backward() {
  return pointwise::vectorized<Backward>();
}

}  // namespace warpscope::ops::gelu
