#include <bit>
#include <cmath>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::mse {
namespace {

std::vector<OpShape> forward_shapes() {
  auto list = test_shapes::images();
  list.push_back(test_shapes::image(64, 32, 32, 3));
  return list;
}

/// The gradient of a mean is scaled so that it lies well inside the range of FP16, as training scales it.
void fit_backward(const Draw& draw) {
  const auto elements = static_cast<std::uint64_t>(sizes::input(draw.shape));
  const int exponent = static_cast<int>(std::bit_width(elements)) - 2 + static_cast<int>(draw.random() % 4);
  draw.edit_item<step::StepControl>(
      Name::control, [&](step::StepControl& control) { control.loss_scale = std::ldexp(1.0f, exponent); });
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = forward_shapes, .random_shape = test_shapes::random_image, .no_derivative = kForwardOp};
}

OpTests backward_tests() {
  return {.shapes = test_shapes::images,
          .random_shape = test_shapes::random_image,
          .fit = fit_backward,
          .derivative = Derivative{.forward = Op::mse_forward,
                                   .shape = test_shapes::image(2, 5, 4, 3),
                                   .variable = Name::prediction,
                                   .result = Name::gradient,
                                   .output = Name::loss,
                                   .output_gradient = {}}};
}

}  // namespace warpscope::ops::mse
