// conv2d.backward_weights, variant `wmma`: over `implicit_gemm` it adds tensor cores.
//
//   dw[k, (r, s, c)] = sum over pixels of dy[pixel, k] * x[pixel shifted by (r, s), c]
//
// Both operands lie in shared memory as in the tensors, pixel by pixel. The pixels are divided among blocks, whose
// parts of the sums a second kernel adds in a fixed order: the same bits every time.
//
// Tiles: 128x64, and 16x128 for up to 16 filters. Limits: those of forward; up to 10 MiB of workspace.
// Registers as forward.
// Source: those of forward.

#include <type_traits>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/wmma.h"
#include "gpu/ops/conv2d/wmma_sources.cuh"
#include "gpu/ops/wmma_product.cuh"

namespace warpscope::ops::conv2d {

void wmma::backward_weights(const OpCall& call) {
  using namespace ops::wmma;
  const OpShape& s = call.shape;
  const Sizes sizes = backward_weights_sizes(s);
  const Cut cut = weights_cut(sizes, call.precision);
  with_storage(call.precision, [&]<class T>(T) {
    const auto* x = call.operand<const T>(Name::input);
    const auto* dy = call.operand<const T>(Name::output_gradient);
    auto* dw = call.operand<float>(Name::weights_gradient);
    const auto launch = [&](auto tile, auto dy_vectors, auto x_vectors) {
      const Factor<Matrix<T>, false, dy_vectors> a{{dy, sizes.depth, sizes.rows}};
      const Factor<Window<T, false>, false, x_vectors> b{window_of<T, false>(taps_of_input(s), x)};
      launch_product<decltype(tile)>(call, sizes, cut, a, b, Finish<T>{nullptr, false}, dw);
    };
    const bool x_chunks = has_chunks(s.in_channels, x);
    // Not each combination is worth being compiled.
    if (cut.kind == TileKind::flat) {
      with_flag(x_chunks, [&](auto vectors) { launch(FlatTile{}, std::false_type{}, vectors); });
    } else if (has_chunks(s.out_channels, dy)) {
      with_flag(x_chunks, [&](auto vectors) { launch(WideTile{}, std::true_type{}, vectors); });
    } else {
      launch(WideTile{}, std::false_type{}, std::false_type{});
    }
  });
}

Variant wmma_backward_weights() {
  return wmma::variant_of(Op::conv2d_backward_weights);
}

}  // namespace warpscope::ops::conv2d
