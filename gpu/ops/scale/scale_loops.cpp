// scale, variant `loops`: pointwise/pointwise_loops.h with scale_formula.h.

#include "gpu/ops/pointwise/pointwise_loops.h"
#include "gpu/ops/scale/scale.h"
#include "gpu/ops/scale/scale_formula.h"

namespace warpscope::ops::scale {

Variant loops_forward() {
  return pointwise::loops<Forward>(refuses);
}
Variant loops_backward() {
  return pointwise::loops<Backward>(refuses);
}

}  // namespace warpscope::ops::scale
