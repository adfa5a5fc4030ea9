#include "gpu/ops/gradients/gradients.h"
#include "gpu/ops/gradients/gradients_variants.h"

namespace warpscope::ops::gradients {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_check(), loops_check()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {vectorized_check()});
#endif
  return list;
}

}  // namespace warpscope::ops::gradients
