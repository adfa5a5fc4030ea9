#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::batch {
namespace {

/// Data sets smaller than a batch too: the order is then walked more than once.
std::vector<OpShape> shapes() {
  auto list = test_shapes::images();
  std::int64_t count = 1;
  for (OpShape& shape : list) shape.count = (count = 2 * count + 1);
  return list;
}

OpShape random_shape(Random& random) {
  OpShape shape = test_shapes::random_image(random);
  shape.count = test_shapes::between(random, 1, 40);
  return shape;
}

}  // namespace

OpTests gather_tests() {
  return {.shapes = shapes,
          .random_shape = random_shape,
          .fit = test_shapes::any_position,
          .no_derivative = kNoFunction};
}

}  // namespace warpscope::ops::batch
