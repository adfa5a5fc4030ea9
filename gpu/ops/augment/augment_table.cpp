#include "gpu/ops/augment/augment.h"

namespace warpscope::ops::augment {

// Each is defined in the file named for its variant.
Variant reference_augment(), loops_augment();
#if WARPSCOPE_HAVE_CUDA
Variant naive_augment(), vectorized_augment(), vectorized_fused_augment();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_augment(), loops_augment()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_augment(), vectorized_augment(), vectorized_fused_augment()});
#endif
  return list;
}

}  // namespace warpscope::ops::augment
