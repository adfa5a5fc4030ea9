#include "gpu/ops/one_hot/one_hot.h"

namespace warpscope::ops::one_hot {

// Each is defined in the file named for its variant.
Variant reference_forward(), loops_forward();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), vectorized_forward();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), loops_forward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), vectorized_forward()});
#endif
  return list;
}

}  // namespace warpscope::ops::one_hot
