// gelu, variant `loops`: pointwise/pointwise_loops.h with gelu_formula.h.

#include "gpu/ops/gelu/gelu_formula.h"
#include "gpu/ops/pointwise/pointwise_loops.h"

namespace warpscope::ops::gelu {

Variant loops_forward() {
  return pointwise::loops<Forward>();
}
Variant loops_backward() {
  return pointwise::loops<Backward>();
}

}  // namespace warpscope::ops::gelu
