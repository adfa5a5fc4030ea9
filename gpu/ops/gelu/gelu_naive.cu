// gelu, variant `naive`: pointwise/pointwise_naive.cuh with gelu_formula.h.

#include "gpu/ops/gelu/gelu_formula.h"
#include "gpu/ops/pointwise/pointwise_naive.cuh"

namespace warpscope::ops::gelu {

Variant naive_forward() {
  return pointwise::naive<Forward>();
}
Variant naive_backward() {
  return pointwise::naive<Backward>();
}

}  // namespace warpscope::ops::gelu
