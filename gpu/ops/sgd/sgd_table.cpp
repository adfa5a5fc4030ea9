#include "gpu/ops/sgd/sgd.h"
#include "gpu/ops/sgd/sgd_variants.h"

namespace warpscope::ops::sgd {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_update(), loops_update()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_update(), vectorized_update()});
#endif
  return list;
}

}  // namespace warpscope::ops::sgd
