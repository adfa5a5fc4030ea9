#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::cast {

OpTests weights_tests() {
  return {.shapes = test_shapes::parameters,
          .random_shape = test_shapes::random_parameters,
          .no_derivative = kNoFunction};
}

OpTests images_tests() {
  return {
      .shapes = test_shapes::images, .random_shape = test_shapes::random_image, .no_derivative = kNoFunction};
}

}  // namespace warpscope::ops::cast
