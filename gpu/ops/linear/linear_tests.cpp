#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::linear {
namespace {

OpShape layer(std::int64_t batch, int in, int out) {
  return {.batch = batch, .in_channels = in, .out_channels = out};
}

/// The last four have weights enough for `hopper`: with the depth of forward in 64 parts and in 13, with that of
/// backward_input in 32 and in 18, and in one.
std::vector<OpShape> shapes() {
  return {layer(1, 1, 1),      layer(1, 7, 3),      layer(2, 3, 513),    layer(3, 513, 1),
          layer(5, 129, 65),   layer(64, 128, 10),  layer(65, 33, 127),  layer(16, 1024, 128),
          layer(128, 64, 16),  layer(4, 8192, 128), layer(1, 32768, 64), layer(5, 6656, 320),
          layer(3, 64, 32768), layer(2, 192, 11008)};
}

/// What `hopper` has to meet: a tile's rows in part, two tiles of rows, products of more slices than there are stages.
std::vector<OpShape> large_shapes() {
  return {layer(37, 6656, 320), layer(70, 16384, 128), layer(136, 1088, 1984), layer(3, 640, 3328),
          layer(257, 1024, 1088)};
}

OpShape random_shape(Random& random) {
  const int batch = random() % 3 == 0 ? 1 : test_shapes::between(random, 2, 130);
  const int in = test_shapes::channels(random);
  return layer(batch, in, test_shapes::channels(random));
}

OpTests tests_with(Derivative derivative) {
  return {
      .shapes = shapes, .random_shape = random_shape, .large_shapes = large_shapes, .derivative = derivative};
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = shapes,
          .random_shape = random_shape,
          .large_shapes = large_shapes,
          .no_derivative = kForwardOp};
}

OpTests backward_input_tests() {
  return tests_with({Op::linear_forward, layer(3, 4, 5), Name::input, Name::input_gradient});
}

OpTests backward_weights_tests() {
  return tests_with({Op::linear_forward, layer(3, 4, 5), Name::weights, Name::weights_gradient});
}

OpTests backward_bias_tests() {
  return tests_with({Op::bias_forward, layer(3, 5, 5), Name::bias, Name::bias_gradient});
}

}  // namespace warpscope::ops::linear
