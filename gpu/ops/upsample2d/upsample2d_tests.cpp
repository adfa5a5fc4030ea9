#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::upsample2d {

OpTests forward_tests() {
  return {
      .shapes = test_shapes::images, .random_shape = test_shapes::random_image, .no_derivative = kForwardOp};
}

OpTests backward_tests() {
  return {.shapes = test_shapes::images,
          .random_shape = test_shapes::random_image,
          .derivative = test_shapes::image_derivative(Op::upsample2d_forward)};
}

}  // namespace warpscope::ops::upsample2d
