// add, variant `naive`: pointwise/pointwise_naive.cuh with add_formula.h.

#include "gpu/ops/add/add_formula.h"
#include "gpu/ops/pointwise/pointwise_naive.cuh"

namespace warpscope::ops::add {

Variant naive_forward() {
  return pointwise::naive<Forward>();
}

}  // namespace warpscope::ops::add
