#include <algorithm>
#include <cmath>
#include <numeric>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::relu {
namespace {

std::vector<OpShape> forward_shapes() {
  auto list = test_shapes::images();
  list.push_back(test_shapes::image(1, 1, 1, 1));
  list.push_back(test_shapes::image(3, 32, 32, 90));
  return list;
}

void smooth(const Draw& draw) {
  draw.edit(Name::input, [](std::vector<double>& values) {
    for (double& value : values) value += value < 0 ? -0.01 : 0.01;
  });
}

/// What a ReLU gives, with zeros in one of eight elements: masked too often, few sums would be left whose
/// errors could average out.
void fit_backward(const Draw& draw) {
  draw.edit(Name::output, [&](std::vector<double>& values) {
    for (double& value : values) value = draw.random() % 8 == 0 ? 0.0 : std::abs(value) + 1.0 / 64;
  });
}

/// Inputs that rounding could carry across zero.
double corners(const OpShape&, const Operands& before, double margin) {
  const auto values = decode(before[Name::input], core::ElementType::f64);
  const auto size = static_cast<double>(values.size());
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  const double near = margin * std::sqrt(squares / size);
  const auto count =
      std::count_if(values.begin(), values.end(), [&](double v) { return std::fabs(v) < near; });
  return static_cast<double>(count) / size;
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = forward_shapes,
          .random_shape = test_shapes::random_image,
          .smooth = smooth,
          .no_derivative = kForwardOp,
          .corners = corners,
          .lets_nan_through = true};
}

OpTests backward_tests() {
  return {.shapes = test_shapes::images,
          .random_shape = test_shapes::random_image,
          .fit = fit_backward,
          .derivative = test_shapes::image_derivative(Op::relu_forward)};
}

}  // namespace warpscope::ops::relu
