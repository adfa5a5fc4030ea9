#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::add {

OpTests forward_tests() {
  return {.shapes = test_shapes::images,
          .random_shape = test_shapes::random_image,
          .no_derivative = kForwardOp,
          .lets_nan_through = true};
}

}  // namespace warpscope::ops::add
