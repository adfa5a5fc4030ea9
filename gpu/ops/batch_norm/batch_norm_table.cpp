#include "gpu/ops/batch_norm/batch_norm.h"

namespace warpscope::ops::batch_norm {

// Each is defined in the file named for its variant.
Variant reference_forward(), reference_infer(), reference_backward(), reference_track(), loops_forward(),
    loops_infer(), loops_backward(), loops_track();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), naive_infer(), naive_backward(), naive_track(), welford_forward(),
    vectorized_infer(), warp_shuffle_backward(), pooled_forward(), pooled_infer(), pooled_backward(),
    recomputed_forward(), recomputed_infer(), recomputed_backward();
#if WARPSCOPE_HAVE_CUDNN
Variant cudnn_forward(), cudnn_infer(), cudnn_backward();
#endif
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), reference_infer(), reference_backward(), reference_track(),
                            loops_forward(),     loops_infer(),     loops_backward(),     loops_track()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(),
              {naive_forward(), naive_infer(), naive_backward(), naive_track(), welford_forward(),
               vectorized_infer(), warp_shuffle_backward(), pooled_forward(), pooled_infer(),
               pooled_backward(), recomputed_forward(), recomputed_infer(), recomputed_backward()});
#if WARPSCOPE_HAVE_CUDNN
  list.insert(list.end(), {cudnn_forward(), cudnn_infer(), cudnn_backward()});
#endif
#endif
  return list;
}

}  // namespace warpscope::ops::batch_norm
