#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::bias {

OpTests forward_tests() {
  return {
      .shapes = test_shapes::images, .random_shape = test_shapes::random_image, .no_derivative = kForwardOp};
}

}  // namespace warpscope::ops::bias
