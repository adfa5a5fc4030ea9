#include "gpu/ops/upsample2d/upsample2d.h"
#include "gpu/ops/upsample2d/upsample2d_variants.h"

namespace warpscope::ops::upsample2d {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), reference_backward(), loops_forward(),
                            loops_backward(),    onednn_forward(),     onednn_backward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), naive_backward(), vectorized_forward(), vectorized_backward()});
#endif
  return list;
}

}  // namespace warpscope::ops::upsample2d
