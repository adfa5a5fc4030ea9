#include "gpu/ops/add/add.h"
#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::add {

const OpTests& forward_tests() {
  static const OpTests tests{
      .shapes = test_shapes::images, .random_shape = test_shapes::random_image, .no_derivative = kForwardOp};
  return tests;
}

}  // namespace warpscope::ops::add
