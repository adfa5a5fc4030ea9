#include "gpu/ops/layer_norm/layer_norm.h"

namespace warpscope::ops::layer_norm {

// Each is defined in the file named for its variant.
Variant reference_forward(), reference_backward_input(), reference_backward_weights(), loops_forward(),
    loops_backward_input(), loops_backward_weights();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), naive_backward_input(), naive_backward_weights(), warp_shuffle_forward(),
    warp_shuffle_backward_input(), warp_shuffle_backward_weights(), pooled_forward(),
    pooled_backward_weights();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), reference_backward_input(), reference_backward_weights(),
                            loops_forward(),     loops_backward_input(),     loops_backward_weights()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), naive_backward_input(), naive_backward_weights(),
                           warp_shuffle_forward(), warp_shuffle_backward_input(),
                           warp_shuffle_backward_weights(), pooled_forward(), pooled_backward_weights()});
#endif
  return list;
}

}  // namespace warpscope::ops::layer_norm
