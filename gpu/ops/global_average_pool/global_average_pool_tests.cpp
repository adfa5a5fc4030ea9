#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::global_average_pool {
namespace {

std::vector<OpShape> shapes() {
  auto list = test_shapes::images();
  list.push_back(test_shapes::image(1, 1, 1, 1));
  list.push_back(test_shapes::image(2, 7, 7, 513));
  list.push_back(test_shapes::image(70001, 1, 3, 1));  // more than 2^16 images
  list.push_back(test_shapes::image(1, 263, 257, 3));  // more than 2^16 pixels
  return list;
}

/// Sums that do not cancel, or few outputs could be off by more than their own size.
void fit_forward(const Draw& draw) {
  draw.edit(Name::input, [](std::vector<double>& values) {
    for (double& value : values) value += 1.0;
  });
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .fit = fit_forward,
          .no_derivative = kForwardOp,
          .lets_nan_through = true};
}

OpTests backward_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .derivative = test_shapes::image_derivative(Op::global_average_pool_forward)};
}

}  // namespace warpscope::ops::global_average_pool
