#include "gpu/ops/maxpool2d/maxpool2d.h"

namespace warpscope::ops::maxpool2d {

// Each is defined in the file named for its variant.
Variant reference_forward(), reference_backward(), loops_forward(), loops_backward();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), vectorized_forward(), atomic_backward(), gather_backward(), direct_backward();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), reference_backward(), loops_forward(), loops_backward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), vectorized_forward(), atomic_backward(), gather_backward(),
                           direct_backward()});
#endif
  return list;
}

}  // namespace warpscope::ops::maxpool2d
