#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::gelu {
namespace {

std::vector<OpShape> shapes() {
  auto list = test_shapes::images();
  list.push_back(test_shapes::image(1, 1, 1, 1));
  list.push_back(test_shapes::image(3, 211, 117, 1));  // more than 2^16 rows
  return list;
}

/// Inputs of which one in four lies where the function is nearly straight.
void spread(const Draw& draw) {
  draw.edit(Name::input, [&](std::vector<double>& values) {
    for (double& value : values) value *= draw.random() % 4 == 0 ? 6.0 : 1.0;
  });
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .fit = spread,
          .no_derivative = kForwardOp,
          .lets_nan_through = true};
}

OpTests backward_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .fit = spread,
          .derivative = test_shapes::image_derivative(Op::gelu_forward)};
}

}  // namespace warpscope::ops::gelu
