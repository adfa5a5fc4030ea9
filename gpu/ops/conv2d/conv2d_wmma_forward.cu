// conv2d.forward, variant `wmma`: over `implicit_gemm` it adds tensor cores, by CUDA's interface for warps, which all
// GPUs since compute capability 7.5 have: in FP16 from there on, in BF16 and TF32 from 8.0. Bias and ReLU are done to
// the FP32 sums before they are rounded and written.
//
// Shifted pixels times filters, as in `implicit_gemm`: the loaders find the pixels in x. Taps and channels are packed
// without gaps and padded with zeros in shared memory to whole fragments. Channels that fill 16 bytes are read so,
// others by elements. Tiles: 128x64, and 128x16 for up to 16 filters. Limits: what is read passes through registers
// and waits there for the products before it, which `mma` copies ahead asynchronously; tensors of at most 2e9
// elements.
// Registers at most 128, for two blocks a multiprocessor; of those that read by elements some spill up to 24 bytes. At
// most 30 KiB of shared memory.
// Source: those of wmma_product.cuh; S. Chetlur et al., "cuDNN: Efficient primitives for deep learning" (2014),
// section 3.

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/wmma.h"
#include "gpu/ops/conv2d/wmma_sources.cuh"
#include "gpu/ops/wmma_product.cuh"

namespace warpscope::ops::conv2d {

void wmma::forward(const OpCall& call) {
  using namespace ops::wmma;
  const OpShape& s = call.shape;
  const Sizes sizes = forward_sizes(s);
  const Cut cut = activations_cut(sizes, call.precision);
  with_storage(call.precision, [&]<class T>(T) {
    const auto* x = call.operand<const T>(Name::input);
    const auto* w = call.operand<const T>(Name::weights);
    const Finish<T> finish{call.operand<const T>(Name::bias), call.covers(Op::relu_forward)};
    with_flag(has_chunks(s.in_channels, x) && has_chunks(s.in_channels, w), [&](auto vectors) {
      const Factor<Window<T, false>, true, vectors> a{window_of<T, false>(taps_of_input(s), x)};
      const Factor<Matrix<T>, true, vectors> b{{w, sizes.columns, sizes.depth}};
      auto* y = call.operand<T>(Name::output);
      if (cut.kind == TileKind::narrow) {
        launch_product<NarrowTile>(call, sizes, cut, a, b, finish, y);
      } else {
        launch_product<WideTile>(call, sizes, cut, a, b, finish, y);
      }
    });
  });
}

Variant wmma_forward() {
  return wmma::variant_of(Op::conv2d_forward);
}

}  // namespace warpscope::ops::conv2d
