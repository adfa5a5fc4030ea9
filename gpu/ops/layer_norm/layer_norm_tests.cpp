#include "gpu/ops/norm_draw.h"
#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::layer_norm {
namespace {

/// One position and one channel, each number of lanes and registers that a GPU's variants work in and what
/// exceeds them, channels that are no whole vectors, and the long sums of a whole batch.
std::vector<OpShape> shapes() {
  auto list = test_shapes::images();
  const auto add = [&](std::int64_t batch, int height, int width, int channels) {
    list.push_back(test_shapes::image(batch, height, width, channels));
  };
  add(1, 1, 1, 1), add(1, 1, 1, 19), add(37, 1, 1, 16), add(3, 5, 1, 40), add(2, 3, 3, 64), add(1, 7, 5, 96);
  add(3, 1, 2, 384), add(1, 3, 1, 511), add(2, 1, 3, 512), add(1, 5, 1, 513), add(2, 3, 1, 1000);
  add(1, 1, 3, 1027), add(1, 1, 2, 2304), add(64, 32, 32, 3);
  return list;
}

/// Images before a max pooling: each window that kernels know and some that they do not, rows and columns that fill no
/// window, a single one, more windows than one block takes.
std::vector<OpShape> chain_shapes() {
  using test_shapes::image;
  using test_shapes::pooled;
  return {pooled(image(1, 1, 3, 1), 1, 3),   pooled(image(1, 1, 2, 19), 1, 2),
          pooled(image(1, 3, 3, 40), 3, 3),  pooled(image(3, 1, 40, 256), 1, 3),
          pooled(image(2, 1, 17, 40), 1, 2), pooled(image(2, 1, 11, 513), 1, 3),
          pooled(image(2, 7, 9, 19), 2, 2),  pooled(image(1, 8, 11, 40), 3, 3),
          pooled(image(2, 5, 6, 256), 2, 2), pooled(image(3, 7, 8, 1), 2, 3),
          pooled(image(2, 8, 5, 64), 3, 2),  pooled(image(2, 7, 3, 512), 3, 1),
          pooled(image(2, 5, 4, 511), 1, 2), pooled(image(9, 1, 122, 16), 1, 3)};
}

/// The same, and more windows than groups of lanes run at once: side by side, with a rest of each line, with rows and
/// columns that fill no window, and in groups of whole warps.
std::vector<OpShape> forward_chain_shapes() {
  using test_shapes::image;
  using test_shapes::pooled;
  std::vector<OpShape> list = chain_shapes();
  list.push_back(pooled(image(131, 1, 303, 8), 1, 3));
  list.push_back(pooled(image(97, 1, 275, 8), 1, 2));
  list.push_back(pooled(image(23, 41, 47, 8), 2, 2));
  list.push_back(pooled(image(11, 100, 37, 8), 3, 1));
  list.push_back(pooled(image(12, 1, 909, 136), 1, 3));
  return list;
}

/// The same, and more positions than the blocks of `warp_shuffle_fused` take in one round, of channels in few lanes.
std::vector<OpShape> backward_weights_chain_shapes() {
  std::vector<OpShape> list = chain_shapes();
  list.push_back(test_shapes::pooled(test_shapes::image(13, 64, 66, 8), 2, 2));
  return list;
}

constexpr OpShape kSmall{.batch = 2, .height = 2, .width = 3, .in_channels = 9};

void fit_forward(const Draw& draw) {
  norm_draw::fit_input(draw, norm_draw::Over::channels_of_a_position);
}

Derivative derivative(Name variable, Name result) {
  return {Op::layer_norm_forward, kSmall, variable, result};
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .chain_shapes = forward_chain_shapes,
          .fit = fit_forward,
          .smooth = norm_draw::smooth,
          .no_derivative = kForwardOp};
}

OpTests backward_input_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .chain_shapes = chain_shapes,
          .fit = norm_draw::fit_backward,
          .derivative = derivative(Name::input, Name::input_gradient)};
}

OpTests backward_weights_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .chain_shapes = backward_weights_chain_shapes,
          .fit = norm_draw::fit_backward,
          .derivative = derivative(Name::weights, Name::weights_gradient),
          .more_derivatives = {derivative(Name::bias, Name::bias_gradient)}};
}

}  // namespace warpscope::ops::layer_norm
