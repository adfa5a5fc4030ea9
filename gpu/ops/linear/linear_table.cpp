#include "gpu/ops/linear/linear.h"

namespace warpscope::ops::linear {

// Each is defined in the file named for its variant.
Variant reference_forward(), reference_backward_input(), reference_backward_weights(),
    reference_backward_bias(), onednn_forward(), onednn_backward_input(), onednn_backward_weights(),
    onednn_backward_bias(), loops_forward(), loops_backward_input(), loops_backward_weights(),
    loops_backward_bias();
#if WARPSCOPE_HAVE_CUDA
Variant naive_forward(), naive_backward_input(), naive_backward_weights(), naive_backward_bias(),
    atomic_backward_input(), atomic_backward_weights(), atomic_backward_bias(), per_sample_backward_weights(),
    warp_shuffle_backward_bias(), tiled_forward(), tiled_backward_input(), tiled_backward_weights(),
    split_k_forward(), split_k_fused_forward(), split_k_backward_input(), split_k_backward_weights(),
    split_k_fused_backward_weights();
#if WARPSCOPE_HAVE_HOPPER
Variant hopper_forward(), hopper_backward_weights();
#endif
#if WARPSCOPE_HAVE_CUBLAS
Variant cublas_forward(), cublas_fused_forward(), cublas_backward_input(), cublas_backward_weights();
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
                            onednn_forward(),
                            onednn_backward_input(),
                            onednn_backward_weights(),
                            onednn_backward_bias()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(),
              {naive_forward(), naive_backward_input(), naive_backward_weights(), naive_backward_bias(),
               atomic_backward_input(), atomic_backward_weights(), atomic_backward_bias(),
               per_sample_backward_weights(), warp_shuffle_backward_bias(), tiled_forward(),
               tiled_backward_input(), tiled_backward_weights(), split_k_forward(), split_k_fused_forward(),
               split_k_backward_input(), split_k_backward_weights(), split_k_fused_backward_weights()});
#if WARPSCOPE_HAVE_HOPPER
  list.insert(list.end(), {hopper_forward(), hopper_backward_weights()});
#endif
#if WARPSCOPE_HAVE_CUBLAS
  list.insert(list.end(),
              {cublas_forward(), cublas_fused_forward(), cublas_backward_input(), cublas_backward_weights()});
#endif
#endif
  return list;
}

}  // namespace warpscope::ops::linear
