#include "gpu/ops/conv2d/conv2d.h"

namespace warpscope::ops::conv2d {

// Each is defined in the file named for its variant.
Variant reference_forward(), reference_backward_input(), reference_backward_weights(),
    reference_backward_bias(), loops_forward(), loops_backward_input(), loops_backward_weights(),
    loops_backward_bias(), gather_rows_loops_forward(), scatter_rows_loops_backward_weights(),
    onednn_forward(), onednn_fused_forward(), onednn_backward_input(), onednn_backward_weights(),
    onednn_backward_bias();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), tiled_forward(), atomic_backward_input(), atomic_backward_weights(),
    atomic_backward_bias(), gather_backward_input(), per_weight_backward_weights(),
    tree_reduction_backward_weights(), warp_shuffle_backward_bias(), implicit_gemm_forward(),
    implicit_gemm_backward_input(), implicit_gemm_backward_weights(), mma_forward(), mma_fused_forward(),
    mma_backward_input(), mma_backward_weights(), gather_rows_forward(), shared_rows_forward(),
    shared_rows_normed_forward(), scatter_rows_backward_weights(), mma_rows_backward_weights(),
    fused_forward(), fused_backward_input(), fused_backward_weights(), narrow_forward(),
    narrow_backward_input(), narrow_backward_weights();
#if WARPSCOPE_HAVE_HOPPER
Variant hopper_forward(), hopper_pooled_forward(), hopper_normed_forward(), hopper_backward_input(),
    hopper_unpooled_backward_input(), hopper_backward_weights(), hopper_rows_backward_weights();
#endif
#if WARPSCOPE_HAVE_CUDNN
Variant cudnn_forward(), cudnn_backward_input(), cudnn_backward_weights();
#endif
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(),
                            reference_backward_input(),
                            reference_backward_weights(),
                            reference_backward_bias(),
                            loops_forward(),
                            loops_backward_input(),
                            loops_backward_weights(),
                            loops_backward_bias(),
                            gather_rows_loops_forward(),
                            scatter_rows_loops_backward_weights(),
                            onednn_forward(),
                            onednn_fused_forward(),
                            onednn_backward_input(),
                            onednn_backward_weights(),
                            onednn_backward_bias()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(),
              {naive_forward(), tiled_forward(), atomic_backward_input(), gather_backward_input(),
               atomic_backward_weights(), per_weight_backward_weights(), tree_reduction_backward_weights(),
               atomic_backward_bias(), warp_shuffle_backward_bias(), implicit_gemm_forward(),
               implicit_gemm_backward_input(), implicit_gemm_backward_weights()});
  list.insert(list.end(), {gather_rows_forward(), shared_rows_forward(), shared_rows_normed_forward(),
                           scatter_rows_backward_weights(), mma_rows_backward_weights()});
  list.insert(list.end(), {mma_forward(), mma_fused_forward(), mma_backward_input(), mma_backward_weights()});
  list.insert(list.end(), {fused_forward(), fused_backward_input(), fused_backward_weights(),
                           narrow_forward(), narrow_backward_input(), narrow_backward_weights()});
#if WARPSCOPE_HAVE_HOPPER
  list.insert(list.end(),
              {hopper_forward(), hopper_normed_forward(), hopper_pooled_forward(), hopper_backward_input(),
               hopper_unpooled_backward_input(), hopper_backward_weights(), hopper_rows_backward_weights()});
#endif
#if WARPSCOPE_HAVE_CUDNN
  list.insert(list.end(), {cudnn_forward(), cudnn_backward_input(), cudnn_backward_weights()});
#endif
#endif
  return list;
}

}  // namespace warpscope::ops::conv2d
