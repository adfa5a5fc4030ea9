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
                             .derivative = Derivative{.forward = Op::upsample2d_forward,
                                                      .shape = test_shapes::image(2, 5, 4, 3),
                                                      .variable = Name::input,
                                                      .output = Name::output,
                                                      .output_gradient = Name::output_gradient,
                                                      .result = Name::input_gradient}};
  return tests;
}

}  // namespace warpscope::ops::upsample2d
