#include "gpu/ops/scale/scale.h"
#include "gpu/ops/scale/scale_variants.h"

namespace warpscope::ops::scale {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), reference_backward(), loops_forward(), loops_backward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), naive_backward(), vectorized_forward(), vectorized_backward()});
#endif
  return list;
}

}  // namespace warpscope::ops::scale
