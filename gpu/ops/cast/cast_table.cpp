#include "gpu/ops/cast/cast.h"

namespace warpscope::ops::cast {

// Each is defined in the file named for its variant.
Variant reference_weights(), reference_widen(), loops_weights(), loops_widen();
#if WARPSCOPE_HAVE_CUDA
Variant vectorized_weights(), vectorized_widen();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_weights(), reference_widen(), loops_weights(), loops_widen()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {vectorized_weights(), vectorized_widen()});
#endif
  return list;
}

}  // namespace warpscope::ops::cast
