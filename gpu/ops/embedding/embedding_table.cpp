#include "gpu/ops/embedding/embedding.h"

namespace warpscope::ops::embedding {

// Each is defined in the file named for its variant.
Variant reference_forward(), reference_backward_weights(), loops_forward(), loops_backward_weights();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), naive_backward_weights(), atomic_backward_weights(), vectorized_forward(),
    scatter_rows_backward_weights();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), reference_backward_weights(), loops_forward(),
                            loops_backward_weights()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), naive_backward_weights(), vectorized_forward(),
                           atomic_backward_weights(), scatter_rows_backward_weights()});
#endif
  return list;
}

}  // namespace warpscope::ops::embedding
