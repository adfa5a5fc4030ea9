#include <array>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::dropout {
namespace {

constexpr std::array kRates{0.5f, 0.0f, 0.25f, 0.1f, 0.9f, 0.999f};

OpShape with_rate(OpShape shape, std::size_t choice) {
  shape.dropout_rate = kRates.at(choice % kRates.size());
  shape.salt = static_cast<std::uint32_t>(3 * choice);
  return shape;
}

std::vector<OpShape> shapes() {
  auto list = test_shapes::images();
  list.push_back(test_shapes::image(1, 1, 1, 1));
  list.push_back(test_shapes::image(3, 211, 117, 1));  // more than 2^16 rows
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = with_rate(list[i], i);
  return list;
}

OpShape random_shape(Random& random) {
  const OpShape shape = test_shapes::random_image(random);
  return with_rate(shape, static_cast<std::size_t>(random() % 1000));
}

void fit(const Draw& draw) {
  draw.edit_item<step::StepControl>(Name::control, [&](step::StepControl& control) {
    control.seed = draw.random();
    control.micro_batch = static_cast<std::uint32_t>(draw.random() % 4);
  });
}

Derivative derivative() {
  Derivative made = test_shapes::image_derivative(Op::dropout_forward);
  made.shape.dropout_rate = 0.25f;
  made.shape.salt = 1;
  return made;
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = shapes,
          .random_shape = random_shape,
          .fit = fit,
          .no_derivative = kForwardOp,
          .lets_nan_through = true};
}

OpTests backward_tests() {
  return {.shapes = shapes, .random_shape = random_shape, .fit = fit, .derivative = derivative()};
}

}  // namespace warpscope::ops::dropout
