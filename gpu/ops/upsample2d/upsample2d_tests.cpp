#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"
#include "gpu/ops/upsample2d/upsample2d.h"

namespace warpscope::ops::upsample2d {

const OpTests& forward_tests() {
  static const OpTests tests{
      .shapes = test_shapes::images, .random_shape = test_shapes::random_image, .no_derivative = kForwardOp};
  return tests;
}

const OpTests& backward_tests() {
  static const OpTests tests{.shapes = test_shapes::images,
                             .random_shape = test_shapes::random_image,
                             .derivative = test_shapes::image_derivative(Op::upsample2d_forward)};
  return tests;
}

}  // namespace warpscope::ops::upsample2d
