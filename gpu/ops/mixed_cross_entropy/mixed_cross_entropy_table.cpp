#include "gpu/ops/mixed_cross_entropy/mixed_cross_entropy.h"

namespace warpscope::ops::mixed_cross_entropy {

// Each is defined in the file named for its variant.
Variant reference_forward(), reference_backward(), loops_forward(), loops_backward();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), naive_backward(), warp_shuffle_forward(), warp_shuffle_fused_forward(),
    warp_shuffle_backward();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), reference_backward(), loops_forward(), loops_backward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), naive_backward(), warp_shuffle_forward(),
                           warp_shuffle_fused_forward(), warp_shuffle_backward()});
#endif
  return list;
}

}  // namespace warpscope::ops::mixed_cross_entropy
