// conv2d.forward, variant `implicit_gemm`: over `naive` it adds reuse. The convolution is computed as the
// matrix product of shifted pixels and weights, tile by tile in shared memory and registers, so that a number
// read from the cache is multiplied 64 to 128 times instead of once; the matrix of shifted pixels never
// exists in memory, the loaders find its elements in x.
//
// Tiles: 128x128, 128x64, 64x64 or 64x32 pixels by channels, whichever is estimated fastest
// (implicit_gemm_plan.h); at most four output channels go to implicit_gemm_narrow.cuh. Channels in fours are
// read 16 bytes at a time, others 4. Convolutions that are not plain (conv2d.cpp) are compiled apart, in
// conv2d_implicit_gemm_general.cu. Limits: tensors of at most 2e9 elements; FP32 on the CUDA cores, so
// the tensor cores idle; the same pixels are read once per tap, from the L1 and L2 caches.
// Registers and shared memory: implicit_gemm_tile.cuh and implicit_gemm_narrow.cuh.
// Source: S. Chetlur et al., "cuDNN: Efficient primitives for deep learning" (2014), section 3, and those in
// implicit_gemm_tile.cuh.

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/implicit_gemm_general.h"
#include "gpu/ops/conv2d/implicit_gemm_launch.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

void launch_narrow(const ActivationsCall& call) {
  switch (call.filters) {
    case 1:
      return launch_narrow_filters<1>(call);
    case 2:
      return launch_narrow_filters<2>(call);
    case 3:
      return launch_narrow_filters<3>(call);
    default:
      return launch_narrow_filters<4>(call);
  }
}

namespace {

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const ActivationsCall gemm{taps_of(s, s.in_channels),
                             s.out_channels,
                             call.operand<const float>(Name::input),
                             call.operand<const float>(Name::weights),
                             call.operand<float>(Name::output),
                             call.variant,
                             call.stream};
  if (!is_plain(s)) {
    launch_general_forward(call);
  } else if (s.out_channels <= kNarrowFilters) {
    launch_narrow(gemm);
  } else {
    launch_activations<false>(gemm);
  }
}

}  // namespace

Variant implicit_gemm_forward() {
  return cuda_variant(
      Op::conv2d_forward, "implicit_gemm", forward,
      "A tiled matrix product of shifted pixels and weights: every number read is used 64 times.",
      {.precisions = {core::Precision::fp32},
       .presets = {{"implicit_gemm", true}},
       .refuses = refuses_large});
}

}  // namespace warpscope::ops::conv2d
