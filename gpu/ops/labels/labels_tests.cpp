#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::labels {
namespace {

/// A batch longer than the data set walks the order more than once.
std::vector<OpShape> shapes() {
  return {{.batch = 1, .count = 1},     {.batch = 5, .count = 3},       {.batch = 255, .count = 1000},
          {.batch = 256, .count = 256}, {.batch = 2100, .count = 2099}, {.batch = 100, .count = 60000}};
}

OpShape random_shape(Random& random) {
  return {.batch = test_shapes::between(random, 1, 2100), .count = test_shapes::between(random, 1, 3000)};
}

}  // namespace

OpTests gather_tests() {
  return {.shapes = shapes,
          .random_shape = random_shape,
          .fit = test_shapes::any_position,
          .no_derivative = kNoFunction};
}

}  // namespace warpscope::ops::labels
