#include <array>
#include <cstddef>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::scale {
namespace {

constexpr std::array kFactors{0.125f, 1.0f, -1.0f, 3.0f, 1e-3f, -0.7f};

OpShape with_factor(OpShape shape, std::size_t choice) {
  shape.factor = kFactors.at(choice % kFactors.size());
  return shape;
}

std::vector<OpShape> shapes() {
  auto list = test_shapes::images();
  list.push_back(test_shapes::image(1, 1, 1, 1));
  list.push_back(test_shapes::image(5, 1, 1, 10));
  list.push_back(test_shapes::image(3, 211, 117, 1));  // more than 2^16 rows
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = with_factor(list[i], i);
  return list;
}

OpShape random_shape(Random& random) {
  const OpShape shape = test_shapes::random_image(random);
  return with_factor(shape, static_cast<std::size_t>(random() % 1000));
}

Derivative derivative() {
  Derivative made = test_shapes::image_derivative(Op::scale_forward);
  made.shape.factor = -0.7f;
  return made;
}

}  // namespace

OpTests forward_tests() {
  return {
      .shapes = shapes, .random_shape = random_shape, .no_derivative = kForwardOp, .lets_nan_through = true};
}

OpTests backward_tests() {
  return {.shapes = shapes, .random_shape = random_shape, .derivative = derivative()};
}

}  // namespace warpscope::ops::scale
