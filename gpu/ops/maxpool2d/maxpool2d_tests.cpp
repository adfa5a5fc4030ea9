#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/maxpool2d/maxpool2d_variants.h"
#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::maxpool2d {
namespace {

OpShape random_shape(Random& random) {
  OpShape shape = test_shapes::random_image(random);
  shape.height = test_shapes::extent(random, 2);
  shape.width = test_shapes::extent(random, 2);
  return shape;
}

void round_to_quarters(std::vector<double>& values) {
  for (double& value : values) value = std::round(4 * value) / 4;
}

/// Windows with ties.
void fit_forward(const Draw& draw) {
  draw.edit(Name::input, round_to_quarters);
}

/// An argmax that the forward reference made.
void fit_backward(const Draw& draw) {
  if (!draw.given(Name::argmax)) return;
  const OpShape& s = draw.shape;
  std::normal_distribution<double> normal;
  std::vector<double> input(static_cast<std::size_t>(s.batch * s.height * s.width * s.in_channels));
  for (double& value : input) value = normal(draw.random);
  round_to_quarters(input);
  std::vector<double> output(draw.operands[Name::argmax].size());
  OpCall call;
  call.shape = s;
  call.precision = core::Precision::fp64;
  call.operands[Name::input] = input.data();
  call.operands[Name::output] = output.data();
  call.operands[Name::argmax] = draw.operands[Name::argmax].data();
  reference_forward().launch(call);
}

/// Values that are all different.
void smooth(const Draw& draw) {
  draw.edit(Name::input, [&](std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01 * static_cast<double>(i);
    std::shuffle(values.begin(), values.end(), draw.random);
  });
}

double root_mean_square(const std::vector<double>& values) {
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Calls body(values, element) with the four values of every window, in the order of the codes and of the
/// output.
template <class Body>
void for_each_window(const OpShape& s, const std::vector<double>& values, Body body) {
  const View4<const double> x{values.data(), s.height, s.width, s.in_channels};
  std::size_t element = 0;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int i = 0; i + 1 < s.height; i += 2) {
      for (int j = 0; j + 1 < s.width; j += 2) {
        for (int c = 0; c < s.in_channels; ++c) {
          body(std::array{x(n, i, j, c), x(n, i, j + 1, c), x(n, i + 1, j, c), x(n, i + 1, j + 1, c)},
               element++);
        }
      }
    }
  }
}

/// Windows whose two largest values rounding could swap. Equal ones give the same winner.
double corners(const OpShape& shape, const Operands& before, double margin) {
  const auto values = decode(before[Name::input], core::ElementType::f64);
  const double near = 2 * margin * root_mean_square(values);
  std::int64_t windows = 0;
  std::int64_t ties = 0;
  for_each_window(shape, values, [&](std::array<double, 4> window, std::size_t) {
    std::sort(window.begin(), window.end());
    const double gap = window[3] - window[2];
    ++windows;
    if (gap > 0 && gap < near) ++ties;
  });
  return static_cast<double>(ties) / static_cast<double>(windows);
}

/// Whether each code points at a value that is the largest of its window but for rounding: eight times the
/// error that the tolerance allows the values on average.
bool accepts(const OpShape& shape, const Operands& before, Name name, std::span<const std::byte> written,
             double tolerance) {
  if (name != Name::argmax) return false;
  const auto values = decode(before[Name::input], core::ElementType::f64);
  const double slack = 8 * tolerance * root_mean_square(values);
  bool right = true;
  for_each_window(shape, values, [&](const std::array<double, 4>& window, std::size_t element) {
    const auto code = std::to_integer<std::size_t>(written[element]);
    const double largest = *std::max_element(window.begin(), window.end());
    right = right && code < window.size() && window[code] >= largest - slack;
  });
  return right;
}

}  // namespace

const OpTests& forward_tests() {
  static const OpTests tests{.shapes = test_shapes::images,
                             .random_shape = random_shape,
                             .fit = fit_forward,
                             .smooth = smooth,
                             .no_derivative = kForwardOp,
                             .corners = corners,
                             .accepts = accepts};
  return tests;
}

const OpTests& backward_tests() {
  static const OpTests tests{.shapes = test_shapes::images,
                             .random_shape = random_shape,
                             .fit = fit_backward,
                             .derivative = test_shapes::image_derivative(Op::maxpool2d_forward)};
  return tests;
}

}  // namespace warpscope::ops::maxpool2d
