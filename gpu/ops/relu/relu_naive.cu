// relu, variant `naive`: pointwise/pointwise_naive.cuh with relu_formula.h.

#include "gpu/ops/pointwise/pointwise_naive.cuh"
#include "gpu/ops/relu/relu_formula.h"

namespace warpscope::ops::relu {

Variant naive_forward() {
  return pointwise::naive<Forward>();
}
Variant naive_backward() {
  return pointwise::naive<Backward>();
}

}  // namespace warpscope::ops::relu
