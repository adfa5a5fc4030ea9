#include "gpu/ops/optimizer/optimizer.h"
#include "gpu/ops/optimizer/optimizer_variants.h"

namespace warpscope::ops::optimizer {

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
