#include "gpu/ops/gelu/gelu.h"

namespace warpscope::ops::gelu {

// Each is defined in the file named for its variant.
Variant reference_forward(), reference_backward(), loops_forward(), loops_backward(), onednn_forward(),
    onednn_backward();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), naive_backward(), vectorized_forward(), vectorized_backward();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), reference_backward(), loops_forward(),
                            loops_backward(),    onednn_forward(),     onednn_backward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), naive_backward(), vectorized_forward(), vectorized_backward()});
#endif
  return list;
}

}  // namespace warpscope::ops::gelu
