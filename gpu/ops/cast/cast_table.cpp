#include "gpu/ops/cast/cast.h"
#include "gpu/ops/cast/cast_variants.h"

namespace warpscope::ops::cast {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_weights(), reference_widen(), loops_weights(), loops_widen()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {vectorized_weights(), vectorized_widen()});
#endif
  return list;
}

}  // namespace warpscope::ops::cast
