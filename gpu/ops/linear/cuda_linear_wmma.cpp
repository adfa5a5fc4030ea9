// linear, variant `wmma`: over `tiled` it adds tensor cores, by CUDA's interface for warps, from compute capability
// 7.5 on. A linear layer is a convolution of one tap over images of one pixel, whose kernels these are
// (conv2d_wmma_*.cu). Deep sums are divided among blocks and added in a fixed order. Limits: `split_k` loads further
// ahead and has smaller tiles, which suit few rows better; tensors of at most 2e9 elements.

#include "gpu/ops/conv2d/wmma.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {

Variant wmma_forward() {
  return conv2d::wmma::variant_of(Op::linear_forward);
}
Variant wmma_backward_input() {
  return conv2d::wmma::variant_of(Op::linear_backward_input);
}
Variant wmma_backward_weights() {
  return conv2d::wmma::variant_of(Op::linear_backward_weights);
}

}  // namespace warpscope::ops::linear
