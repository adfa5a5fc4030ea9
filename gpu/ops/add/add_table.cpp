#include "gpu/ops/add/add.h"

namespace warpscope::ops::add {

// Each is defined in the file named for its variant.
Variant reference_forward(), loops_forward(), onednn_forward();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), vectorized_forward();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), loops_forward(), onednn_forward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), vectorized_forward()});
#endif
  return list;
}

}  // namespace warpscope::ops::add
