#include "gpu/ops/add/add.h"
#include "gpu/ops/add/add_variants.h"

namespace warpscope::ops::add {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), loops_forward(), onednn_forward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), vectorized_forward()});
#endif
  return list;
}

}  // namespace warpscope::ops::add
