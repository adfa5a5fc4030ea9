// linear.backward_weights and linear.backward_input, variants `split_k` and `split_k_fused`: the blocks of
// linear_split_k_forward.cu on the other two products, of which one launch may hold both. `split_k_fused` of
// backward_weights adds to its blocks the sums of the output gradient that are the bias's gradient, from the
// strips that it has in shared memory, and to its launch the blocks of backward_input, with the derivative
// of the activation before the layer: the whole backward pass of a layer in one launch. Limits and source: those of
// forward.

#include <algorithm>

#include "gpu/ops/chains.h"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/linear/split_k_launch.cuh"

namespace warpscope::ops::linear::split_k {
namespace {

/// The blocks of `weights` come first.
template <class Tile, class T, class Finish>
__global__ void __launch_bounds__(Tile::kThreads, 512 / Tile::kThreads)
    linear_backward_split_k(const __grid_constant__ Job<T, RowSums> weights,
                            const __grid_constant__ Job<T, Finish> input) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  const unsigned of_weights = weights.cut.blocks();
  if (blockIdx.x < of_weights) {
    Block<Tile, false, false, RowSums>(weights, blockIdx.x, shared).run();
  } else {
    Block<Tile, true, false, Finish>(input, blockIdx.x - of_weights, shared).run();
  }
#endif
}

template <class Tile, class T, class Finish>
void launch(const OpCall& call, const Job<T, RowSums>& weights, const Job<T, Finish>& input) {
  constexpr unsigned kSharedBytes =
      std::max(Layout<Tile, false, false>::kBytes, Layout<Tile, true, false>::kBytes);
  const unsigned blocks = weights.cut.blocks() + input.cut.blocks();
  run_kernel(call, {blocks, Tile::kThreads, kSharedBytes}, linear_backward_split_k<Tile, T, Finish>, weights,
             input);
}

}  // namespace

void launch_backward_weights(const OpCall& call, const Pair& pair) {
  with_tile(call.precision, pair.first.tile, [&](auto* tile) {
    using Tile = std::remove_pointer_t<decltype(tile)>;
    using T = typename Tile::Value;
    const Product p = backward_weights_product(call.shape);
    const auto* dy = call.operand<const T>(Name::output_gradient);
    Shared from = shared_of(call);
    const RowSums sums{call.operand<float>(Name::bias_gradient)};
    const auto weights =
        job(p, pair.first, line_first(dy, p.rows), line_first(call.operand<const T>(Name::input), p.columns),
            call.operand<float>(Name::weights_gradient), sums, from);
    const Activation activation = derivative_of(call.shape.covered);
    with_relu_or_more(activation, [&](auto relu) {
      using Finish = Derivative<T, relu.value>;
      Job<T, Finish> input{};
      if (call.covers(Op::linear_backward_input)) {
        const Product q = backward_input_product(call.shape);
        const Finish derivative{activation, static_cast<const T*>(derivative_operand(call))};
        input = job(q, pair.second, depth_first(dy, q.rows, q.depth),
                    line_first(call.operand<const T>(Name::weights), q.columns),
                    call.operand<T>(Name::input_gradient), derivative, from);
      }
      launch<Tile>(call, weights, input);
    });
  });
}

void launch_backward_input(const OpCall& call, const Cut& cut) {
  with_tile(call.precision, cut.tile, [&](auto* tile) {
    using Tile = std::remove_pointer_t<decltype(tile)>;
    using T = typename Tile::Value;
    const Product p = backward_input_product(call.shape);
    Shared from = shared_of(call);
    const auto input = job(p, cut, depth_first(call.operand<const T>(Name::output_gradient), p.rows, p.depth),
                           line_first(call.operand<const T>(Name::weights), p.columns),
                           call.operand<T>(Name::input_gradient), Derivative<T, true>{}, from);
    launch<Tile>(call, Job<T, RowSums>{}, input);
  });
}

}  // namespace warpscope::ops::linear::split_k
