#include "gpu/ops/augment/augment.h"
#include "gpu/ops/augment/augment_variants.h"

namespace warpscope::ops::augment {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_augment(), loops_augment()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_augment(), vectorized_augment(), vectorized_fused_augment()});
#endif
  return list;
}

}  // namespace warpscope::ops::augment
