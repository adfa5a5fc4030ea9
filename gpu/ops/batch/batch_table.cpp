#include "gpu/ops/batch/batch.h"
#include "gpu/ops/batch/batch_variants.h"

namespace warpscope::ops::batch {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_gather(), loops_gather()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_gather(), vectorized_gather(), vectorized_fused_gather()});
#endif
  return list;
}

}  // namespace warpscope::ops::batch
