#include "gpu/ops/one_hot/one_hot.h"
#include "gpu/ops/one_hot/one_hot_variants.h"

namespace warpscope::ops::one_hot {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), loops_forward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), vectorized_forward()});
#endif
  return list;
}

}  // namespace warpscope::ops::one_hot
