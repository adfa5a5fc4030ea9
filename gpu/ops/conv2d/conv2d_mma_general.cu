// conv2d.forward and backward_input, variants `mma` and `mma_fused`, for convolutions that are not plain
// (conv2d.cpp): stride, dilation, no padding. Tiles, products and what follows them are those of plain ones
// (conv2d_mma_forward.cu, conv2d_mma_backward_input.cu); only what the taps read is found by mma_general.cuh.
//
// Tiles: 128x128, 64x64 and 128x16, and 128x128 by elements. backward_input multiplies zeros where a stride
// leaves out taps: of a stride of 2 along both axes three of four.
// Registers on sm_90, in 16 bits and in TF32: forward large 240 and 224, small 117 and 116, narrow 94 and 105,
// dense 250 and 228; backward_input large 238 and 240, small 106 and 122, narrow 100 and 113, dense 246 and
// 231; none spill.
// Source: those of conv2d_mma_forward.cu; V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep
// learning" (2016), sections 4.5 and 5.1, for strides and dilation.

#include "gpu/ops/conv2d/mma_activations.cuh"

namespace warpscope::ops::conv2d::tensor_cores {

void launch_general_forward(const ActivationsCall<GeneralTaps>& call, core::Precision precision) {
  launch_activations<false>(call, precision);
}

void launch_general_backward_input(const ActivationsCall<GeneralTaps>& call, core::Precision precision) {
  launch_activations<true>(call, precision);
}

}  // namespace warpscope::ops::conv2d::tensor_cores
