#include "gpu/ops/batch/batch.h"

namespace warpscope::ops::batch {

// Each is defined in the file named for its variant.
Variant reference_gather(), loops_gather();
#if WARPSCOPE_HAVE_CUDA
Variant naive_gather(), vectorized_gather(), vectorized_fused_gather();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_gather(), loops_gather()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_gather(), vectorized_gather(), vectorized_fused_gather()});
#endif
  return list;
}

}  // namespace warpscope::ops::batch
