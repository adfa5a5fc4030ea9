#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::one_hot {
namespace {

OpShape text(std::int64_t batch, int height, int width, int channels) {
  OpShape shape = test_shapes::image(batch, height, width, 1);
  shape.out_channels = channels;
  return shape;
}

std::vector<OpShape> shapes() {
  return {text(1, 1, 1, 1), text(2, 1, 19, 70), text(3, 5, 7, 8), text(1, 1, 300, 255), text(5, 3, 2, 33)};
}

OpShape random_shape(Random& random) {
  return text(test_shapes::small_batch(random), test_shapes::extent(random), test_shapes::extent(random),
              test_shapes::between(random, 1, 255));
}

/// Bytes as batch.gather leaves them, some of which have no channel.
void fit(const Draw& draw) {
  test_shapes::draw_symbols(draw, Name::input, draw.shape.out_channels);
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = shapes,
          .random_shape = random_shape,
          .fit = fit,
          .no_derivative = "constant but for its steps: no gradient goes back"};
}

}  // namespace warpscope::ops::one_hot
