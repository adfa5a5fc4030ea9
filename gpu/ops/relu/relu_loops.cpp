// relu, variant `loops`: pointwise/pointwise_loops.h with relu_formula.h.

#include "gpu/ops/pointwise/pointwise_loops.h"
#include "gpu/ops/relu/relu_formula.h"

namespace warpscope::ops::relu {

Variant loops_forward() {
  return pointwise::loops<Forward>();
}
Variant loops_backward() {
  return pointwise::loops<Backward>();
}

}  // namespace warpscope::ops::relu
