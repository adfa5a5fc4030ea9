// conv2d.backward_input, variant `wmma`: over `implicit_gemm` it adds tensor cores, with the product of `wmma`
// forward. The gradient of the input is the convolution of the output's gradient with each kernel turned by 180
// degrees and input and output channels exchanged. The weights stay as they are in memory: their lines run along the
// input channels, so that they are fragments in the other order.
//
// Tiles and limits as forward's; of a stride of 2 along both axes three of four products are with zeros.
// Registers as forward.
// Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning" (2016), section 4, and those of
// forward.

#include <type_traits>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/wmma.h"
#include "gpu/ops/conv2d/wmma_sources.cuh"
#include "gpu/ops/wmma_product.cuh"

namespace warpscope::ops::conv2d {

void wmma::backward_input(const OpCall& call) {
  using namespace ops::wmma;
  const OpShape& s = call.shape;
  const Sizes sizes = backward_input_sizes(s);
  const Cut cut = activations_cut(sizes, call.precision);
  with_storage(call.precision, [&]<class T>(T) {
    const auto* dy = call.operand<const T>(Name::output_gradient);
    const auto* w = call.operand<const T>(Name::weights);
    auto* dx = call.operand<T>(Name::input_gradient);
    const TurnedFilters<T> filters{w, FastDivide::by(static_cast<unsigned>(s.out_channels)), s.out_channels,
                                   s.kernel_height * s.kernel_width, s.in_channels};
    const auto launch = [&](auto tile, auto dy_vectors, auto w_vectors) {
      const Factor<Window<T, true>, true, dy_vectors> a{window_of<T, true>(taps_of_output(s), dy)};
      const Factor<TurnedFilters<T>, false, w_vectors> b{filters};
      launch_product<decltype(tile)>(call, sizes, cut, a, b, Finish<T>{nullptr, false}, dx);
    };
    const bool dy_chunks = has_chunks(s.out_channels, dy);
    // Not each combination is worth being compiled.
    if (cut.kind == TileKind::narrow) {
      with_flag(dy_chunks, [&](auto vectors) { launch(NarrowTile{}, vectors, std::false_type{}); });
    } else if (has_chunks(s.in_channels, w)) {
      with_flag(dy_chunks, [&](auto vectors) { launch(WideTile{}, vectors, std::true_type{}); });
    } else {
      launch(WideTile{}, std::false_type{}, std::false_type{});
    }
  });
}

Variant wmma_backward_input() {
  return wmma::variant_of(Op::conv2d_backward_input);
}

}  // namespace warpscope::ops::conv2d
