// dropout, variant `loops`: pointwise/pointwise_loops.h with dropout_formula.h.

#include "gpu/ops/dropout/dropout.h"
#include "gpu/ops/dropout/dropout_formula.h"
#include "gpu/ops/pointwise/pointwise_loops.h"

namespace warpscope::ops::dropout {

Variant loops_forward() {
  return pointwise::loops<Forward>(refuses);
}
Variant loops_backward() {
  return pointwise::loops<Backward>(refuses);
}

}  // namespace warpscope::ops::dropout
