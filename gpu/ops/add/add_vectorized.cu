// add, variant `vectorized`: pointwise/pointwise_vectorized.cuh with add_formula.h.

#include "gpu/ops/add/add_formula.h"
#include "gpu/ops/pointwise/pointwise_vectorized.cuh"

namespace warpscope::ops::add {

Variant vectorized_forward() {
  return pointwise::vectorized<Forward>();
}

}  // namespace warpscope::ops::add
