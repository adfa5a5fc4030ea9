#include "gpu/ops/global_average_pool/global_average_pool.h"
#include "gpu/ops/global_average_pool/global_average_pool_variants.h"

namespace warpscope::ops::global_average_pool {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), reference_backward(), loops_forward(),
                            loops_backward(),    onednn_forward(),     onednn_backward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), naive_backward(), warp_shuffle_forward(), vectorized_backward()});
#endif
  return list;
}

}  // namespace warpscope::ops::global_average_pool
