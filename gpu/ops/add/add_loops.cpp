// add, variant `loops`: pointwise/pointwise_loops.h with add_formula.h.

#include "gpu/ops/add/add_formula.h"
#include "gpu/ops/pointwise/pointwise_loops.h"

namespace warpscope::ops::add {

Variant loops_forward() {
  return pointwise::loops<Forward>();
}

}  // namespace warpscope::ops::add
