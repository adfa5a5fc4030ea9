// conv2d.backward_input, variant `implicit_gemm`: over `naive` it adds reuse, with the kernel of
// implicit_gemm forward. The gradient of the input is the convolution of the output's gradient with each
// kernel turned by 180 degrees and input and output channels exchanged; the loader turns and exchanges as it
// reads.
//
// Tiles and limits as forward's. For at most four input channels the weights, then a few kilobytes, are first
// rearranged in the workspace, so that the narrow kernel of forward can take them.
// Registers and shared memory: implicit_gemm_tile.cuh and implicit_gemm_narrow.cuh.
// Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning" (2016), section 4, and
// those of forward.

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/implicit_gemm_general.h"
#include "gpu/ops/conv2d/implicit_gemm_launch.cuh"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

// turned[c, R-1-r, S-1-s, k] = w[k, r, s, c]
__global__ void turn_weights(int count, int taps, int in_channels, int out_channels,
                             const float* __restrict__ w, float* __restrict__ turned) {
  for (int i = first_element<int>(); i < count; i += element_stride<int>()) {
    const int k = i % out_channels;
    const int tap = i / out_channels % taps;
    const int c = i / out_channels / taps;
    turned[i] = w[(k * taps + taps - 1 - tap) * in_channels + c];
  }
}

std::size_t workspace(const OpShape& s, core::Precision) {
  if (s.in_channels > kNarrowFilters || !is_plain(s)) return 0;
  return sizeof(float) * static_cast<std::size_t>(s.kernel_height) * s.kernel_width * s.in_channels *
         s.out_channels;
}

void backward_input(const OpCall& call) {
  const OpShape& s = call.shape;
  ActivationsCall gemm{taps_of(s, s.out_channels),
                       s.in_channels,
                       call.operand<const float>(Name::output_gradient),
                       call.operand<const float>(Name::weights),
                       call.operand<float>(Name::input_gradient),
                       call.variant,
                       call.stream};
  if (!is_plain(s)) {
    launch_general_backward_input(call);
  } else if (s.in_channels <= kNarrowFilters) {
    auto* turned = static_cast<float*>(call.workspace);
    const int taps = s.kernel_height * s.kernel_width;
    const int count = taps * s.in_channels * s.out_channels;
    run_kernel(call, "turning the weights", {element_blocks(count)}, turn_weights, count, taps, s.in_channels,
               s.out_channels, gemm.weights, turned);
    gemm.weights = turned;
    launch_narrow(gemm);
  } else {
    launch_activations<true>(gemm);
  }
}

}  // namespace

Variant implicit_gemm_backward_input() {
  return cuda_variant(Op::conv2d_backward_input, "implicit_gemm", backward_input,
                      "The tiled matrix product of forward, with the kernels turned as they are read.",
                      {.precisions = {core::Precision::fp32},
                       .presets = {{"implicit_gemm", true}},
                       .workspace_bytes = workspace,
                       .refuses = refuses_large});
}

}  // namespace warpscope::ops::conv2d
