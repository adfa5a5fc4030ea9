#include "gpu/ops/optimizer/optimizer.h"

namespace warpscope::ops::optimizer {

// Each is defined in the file named for its variant.
Variant reference_update(), reference_update_per_sample(), reference_accumulate(), reference_keep(),
    reference_norm(), loops_update(), loops_update_per_sample(), loops_accumulate(), loops_keep(),
    loops_norm();
#if WARPSCOPE_HAVE_CUDA
Variant naive_update(), naive_accumulate(), naive_keep(), naive_norm(), atomic_update_per_sample(),
    vectorized_update(), vectorized_accumulate(), vectorized_keep(), vectorized_norm();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_accumulate(),
                            reference_keep(),
                            reference_norm(),
                            reference_update(),
                            reference_update_per_sample(),
                            loops_accumulate(),
                            loops_keep(),
                            loops_norm(),
                            loops_update(),
                            loops_update_per_sample()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(),
              {naive_accumulate(), naive_keep(), naive_norm(), naive_update(), atomic_update_per_sample(),
               vectorized_accumulate(), vectorized_keep(), vectorized_norm(), vectorized_update()});
#endif
  return list;
}

}  // namespace warpscope::ops::optimizer
