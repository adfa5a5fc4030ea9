#include "gpu/ops/gelu/gelu.h"
#include "gpu/ops/gelu/gelu_variants.h"

namespace warpscope::ops::gelu {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), reference_backward(), loops_forward(),
                            loops_backward(),    onednn_forward(),     onednn_backward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), naive_backward(), vectorized_forward(), vectorized_backward()});
#endif
  return list;
}

}  // namespace warpscope::ops::gelu
