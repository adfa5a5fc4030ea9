#include "gpu/ops/cast/cast.h"
#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::cast {

const OpTests& weights_tests() {
  static const OpTests tests{.shapes = test_shapes::parameters,
                             .random_shape = test_shapes::random_parameters,
                             .no_derivative = kNoFunction};
  return tests;
}

const OpTests& images_tests() {
  static const OpTests tests{
      .shapes = test_shapes::images, .random_shape = test_shapes::random_image, .no_derivative = kNoFunction};
  return tests;
}

}  // namespace warpscope::ops::cast
