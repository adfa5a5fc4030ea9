// conv2d.forward, variant `mma_fused`: over `mma` it adds the bias and ReLU that follow, done to the FP32
// sums before they are rounded and written: the output is written once, where three ops write it three times
// and read it twice, and rounded once.
//
// The kernels are those of `mma` (conv2d_mma_forward.cu), with its tiles and limits; a call that covers
// nothing else is the same call. ReLU lets NaN pass.
// Source: NVIDIA, "CUTLASS documentation", "Efficient GEMM in CUDA", section "Epilogue".

#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/mma_activations.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

void forward(const OpCall& call) {
  tensor_cores::launch_forward(call, call.operand<const void>(Name::bias), call.covers(Op::relu_forward));
}

}  // namespace

Variant mma_fused_forward() {
  return cuda_variant(Op::conv2d_forward, "mma_fused", forward,
                      "The tensor-core product with bias and ReLU done to the sums before they are written.",
                      {.precisions = {core::Precision::tf32, core::Precision::fp16, core::Precision::bf16},
                       .minimum_compute_capability = 80,
                       .chain = bias_and_relu_after(Op::conv2d_forward),
                       .presets = {{"tensor_cores", true}},
                       .refuses = tensor_cores::refuses});
}

}  // namespace warpscope::ops::conv2d
