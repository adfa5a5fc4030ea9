// conv2d.forward, variant `mma`: over `implicit_gemm` it adds tensor cores (mma.sync) and asynchronous
// copies that fill three stages of shared memory ahead of the multiplication.
//
// Tiles: 256x128, 128x128, 128x64, 64x64 and 128x16, by mma_plan.h. Channels that fill 16 bytes (8 in 16
// bits, 4 in TF32) are copied without passing through registers; any other number is gathered by elements
// with taps and channels packed without gaps, so that 3 channels of a 3x3 kernel are 27 of 32 products.
// Nothing is padded in global memory. Sums are FP32. Convolutions that are not plain (conv2d.cpp) are compiled
// apart, in conv2d_mma_general.cu. Limits: tensors of at most 2e9 elements, kernels of at most 15x15; up to 16
// output channels waste most of the multiplications.
// Registers on sm_90, in 16 bits and in TF32: huge 234 and 217, large 236 and 221, medium 160 and 144, small
// 116 and 116, narrow 92 and 100, dense 254 and 227; none spill.
// Source: those of mma_tile.cuh; S. Chetlur et al., "cuDNN: Efficient primitives for deep learning" (2014),
// section 3.

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/mma_activations.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

void tensor_cores::launch_forward(const OpCall& call, const void* bias, bool relu) {
  const OpShape& s = call.shape;
  const auto with = [&](const auto& taps) {
    return ActivationsCall<std::remove_cvref_t<decltype(taps)>>{taps,
                                                                s.out_channels,
                                                                call.operand<const void>(Name::input),
                                                                call.operand<const void>(Name::weights),
                                                                bias,
                                                                relu,
                                                                call.operand<void>(Name::output),
                                                                call.variant,
                                                                call.stream};
  };
  if (is_plain(s)) {
    launch_activations<false>(with(taps_of(s, s.in_channels)), call.precision);
  } else {
    launch_general_forward(with(taps_of_input(s)), call.precision);
  }
}

namespace {

void forward(const OpCall& call) {
  tensor_cores::launch_forward(call, nullptr, false);
}

}  // namespace

Variant mma_forward() {
  return cuda_variant(Op::conv2d_forward, "mma", forward,
                      "The tiled matrix product on tensor cores, its tiles copied ahead asynchronously.",
                      {.precisions = {core::Precision::tf32, core::Precision::fp16, core::Precision::bf16},
                       .minimum_compute_capability = 80,
                       .presets = {{"tensor_cores", true}},
                       .refuses = tensor_cores::refuses});
}

}  // namespace warpscope::ops::conv2d
