// conv2d.backward_input, variant `mma`: over `implicit_gemm` it adds tensor cores, with the kernel of mma
// forward. The gradient of the input is the convolution of the output's gradient with each kernel turned by
// 180 degrees and input and output channels exchanged. The weights stay as they are in memory: their lines
// run along the input channels, and the fragments are transposed as they are loaded from shared memory.
//
// Tiles and limits as forward's; 16-byte copies need both channel counts to fill 16 bytes, but for up to 16
// input channels only the output's.
// Registers on sm_90, in 16 bits and in TF32: huge 238 and 238, large 238 and 230, medium 155 and 156, small
// 106 and 120, narrow 96 and 114, dense 244 and 230; none spill.
// Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning" (2016), section 4, and
// those of forward.

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/mma_activations.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

void backward_input(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto with = [&](const auto& taps) {
    return tensor_cores::ActivationsCall<std::remove_cvref_t<decltype(taps)>>{
        taps,
        s.in_channels,
        call.operand<const void>(Name::output_gradient),
        call.operand<const void>(Name::weights),
        nullptr,
        false,
        call.operand<void>(Name::input_gradient),
        call.variant,
        call.stream};
  };
  if (is_plain(s)) {
    tensor_cores::launch_activations<true>(with(taps_of(s, s.out_channels)), call.precision);
  } else {
    tensor_cores::launch_general_backward_input(with(taps_of_output(s)), call.precision);
  }
}

}  // namespace

Variant mma_backward_input() {
  return cuda_variant(
      Op::conv2d_backward_input, "mma", backward_input,
      "The tensor-core product of forward, with the weights transposed as fragments are loaded.",
      {.precisions = {core::Precision::tf32, core::Precision::fp16, core::Precision::bf16},
       .minimum_compute_capability = 80,
       .presets = {{"atomic"}, {"tensor_cores", true}},
       .refuses = tensor_cores::refuses});
}

}  // namespace warpscope::ops::conv2d
