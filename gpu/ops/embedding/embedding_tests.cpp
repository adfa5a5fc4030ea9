#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::embedding {
namespace {

OpShape text(std::int64_t batch, int height, int width, int rows, int channels) {
  OpShape shape = test_shapes::image(batch, height, width, 1);
  shape.out_channels = channels;
  shape.count = rows;
  return shape;
}

std::vector<OpShape> shapes() {
  return {text(1, 1, 1, 2, 1),      text(2, 1, 19, 71, 16),   text(3, 5, 7, 9, 8),
          text(1, 1, 300, 256, 40), text(5, 3, 2, 34, 129),   text(4, 1, 70, 71, 64),
          text(2, 1, 1014, 70, 33), text(16, 1, 300, 12, 40), text(9, 1, 1014, 70, 36)};
}

OpShape random_shape(Random& random) {
  return text(test_shapes::small_batch(random), test_shapes::extent(random), test_shapes::extent(random),
              test_shapes::between(random, 2, 256), test_shapes::channels(random));
}

/// Bytes as batch.gather leaves them, some of which have no row.
void fit(const Draw& draw) {
  test_shapes::draw_symbols(draw, Name::input, static_cast<int>(draw.shape.count) - 1);
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = shapes, .random_shape = random_shape, .fit = fit, .no_derivative = kForwardOp};
}

OpTests backward_weights_tests() {
  return {.shapes = shapes,
          .random_shape = random_shape,
          .fit = fit,
          .derivative =
              Derivative{Op::embedding_forward, text(2, 1, 6, 4, 3), Name::weights, Name::weights_gradient}};
}

}  // namespace warpscope::ops::embedding
